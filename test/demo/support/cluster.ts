import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { Client } from 'pg';
import { chooseServerUser } from '../../../src/embedded-postgres/programs';
import { dataFolder } from '../../support/service';
import { until } from '../../support/until';
import { type Link, openLink } from './link';

const CONFIGURATION = join(__dirname, '..', '..', '..', 'deploy', 'patroni');
const PROGRAMS = ['patroni', 'etcd', 'haproxy', '/usr/lib/postgresql/15/bin/postgres'];
const NODES = [1, 2, 3];
const [ETCD, PEERS, POSTGRES, PATRONI] = [2379, 2380, 5432, 8008];
const HEALTHY_MS = 180_000;
const POLL_MS = 50;

/** A loopback network of this process, in which each node has the ports of production. */
const NETWORK = `127.${1 + (process.pid % 250)}.${Math.floor(process.pid / 250) % 250}`;
/** The address that others use. Links lead from it to the inner one. */
const addressOf = (node: number): string => `${NETWORK}.${node}`;
const innerOf = (node: number): string => `${NETWORK}.${node + 10}`;
const PROXY = `${NETWORK}.9`;

/** Three nodes with PostgreSQL, Patroni and etcd, and HAProxy, from the files in deploy/patroni. */
export class Cluster {
  private readonly folder = dataFolder();
  private readonly user = chooseServerUser();
  private readonly links = new Map<string, Link>();
  private readonly patronis = new Map<number, ChildProcess>();
  private readonly others: ChildProcess[] = [];

  async start(): Promise<void> {
    const missing = PROGRAMS.filter((each) => spawnSync(each, ['--version']).error).join(', ');
    const advice = 'apt-get install patroni etcd-server haproxy postgresql-15';
    if (missing !== '') throw new Error(`${missing} not found: ${advice}`);
    this.own(this.folder.path);
    for (const node of NODES) {
      this.writeFiles(node);
      for (const port of [ETCD, POSTGRES, PATRONI])
        this.links.set(`${node}:${port}`, await openLink(addressOf(node), innerOf(node), port));
      this.others.push(this.run(node, 'etcd'));
    }
    // Patroni ends if the members have not agreed on a version; systemd would start it again.
    for (const node of NODES)
      await until(async () => /"etcdcluster":"\d/.test(await textOf(node, ETCD, '/version')));
    this.others.push(this.run(1, 'haproxy', '-f', join(this.folderOf(1), 'haproxy.cfg')));
    for (const node of NODES) this.startPatroni(node);
  }

  startPatroni(node: number): void {
    this.patronis.set(node, this.run(node, 'patroni', join(this.folderOf(node), 'patroni.yml')));
  }

  /** Returns the database of the service, behind HAProxy. */
  url(): string {
    return this.urlOf(`${PROXY}:5000`);
  }

  /** Waits for a primary, a synchronous standby and another one that have the same state. @returns the primary */
  async healthy(): Promise<number> {
    let primary: number | undefined;
    await until(async () => (primary = await findHealthyPrimary()) !== undefined, HEALTHY_MS);
    return primary!;
  }

  /** Returns the database on a node, without the links. */
  urlOn(node: number): string {
    return this.urlOf(innerOf(node));
  }

  /** Waits for the first of the nodes whose commit succeeds. @returns the time, by performance.now() */
  writable(nodes: readonly number[]): Promise<number> {
    const found = new AbortController();
    const tries = nodes.map((node) => committing(this.urlOn(node), found.signal));
    return Promise.race(tries).finally(() => found.abort());
  }

  standbys(primary: number): readonly number[] {
    return NODES.filter((each) => each !== primary);
  }

  /** Sends a signal to Patroni, and to PostgreSQL's processes unless `isPatroniOnly`. */
  signal(node: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT', isPatroniOnly = false): void {
    const { pid = 0, exitCode } = this.patronis.get(node) ?? {};
    const patroni = pid > 0 && exitCode === null ? [pid] : [];
    for (const each of isPatroniOnly ? patroni : [...patroni, ...serverOf(this.folderOf(node))])
      // The process may have just ended.
      spawnSync('kill', ['-s', name.slice(3), String(each)]);
  }

  async switchOver(from: number): Promise<void> {
    const { PATRONI_RESTAPI_USERNAME: user, PATRONI_RESTAPI_PASSWORD: password } = this.environmentOf(from);
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    await fetch(`http://${innerOf(from)}:${PATRONI}/switchover`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ leader: addressOf(from) }),
    });
  }

  /** Loses the packets from a node to etcd; with `isWhole` also those to the node. @returns a function that heals it */
  cutOff(node: number, isWhole: boolean): () => void {
    const ports = isWhole ? [ETCD, POSTGRES, PATRONI] : [ETCD];
    const lost = ports.map((port) => this.links.get(`${node}:${port}`)!);
    for (const link of lost) link.cut();
    return () => lost.forEach((link) => link.heal());
  }

  stop(): void {
    for (const node of NODES) this.signal(node, 'SIGKILL');
    for (const each of this.others) each.kill('SIGKILL');
    for (const link of this.links.values()) link.close();
    this.folder.remove();
  }

  private folderOf(node: number): string {
    return join(this.folder.path, String(node));
  }

  private own(path: string): void {
    if (this.user) chownSync(path, this.user.uid, this.user.gid);
  }

  private urlOf(host: string): string {
    const { ANIMAL_STORE_PASSWORD: password } = this.environmentOf(1);
    return `postgresql://animal_store:${password}@${host}/animal_store`;
  }

  /** Writes the files in deploy/patroni with the addresses and folders of a node. */
  private writeFiles(node: number): void {
    mkdirSync(this.folderOf(node));
    for (const file of readdirSync(CONFIGURATION)) {
      const text = readFileSync(join(CONFIGURATION, file), 'utf8')
        .replaceAll('THIS_NODE', `db${node}`)
        .replaceAll(/db(\d):2380/g, (_name, of: string) => `${innerOf(Number(of))}:${PEERS}`)
        .replaceAll(/\bdb(\d)\b/g, (_name, of: string) => addressOf(Number(of)))
        .replaceAll('0.0.0.0', innerOf(node))
        .replaceAll('127.0.0.1', PROXY)
        .replaceAll(/\/etc\/patroni(?=\/)|\/var\/(lib|run)\/postgresql/g, this.folderOf(node));
      writeFileSync(join(this.folderOf(node), file), text);
    }
    this.own(this.folderOf(node));
  }

  private environmentOf(node: number): Record<string, string> {
    const variables = parseEnv(readFileSync(join(this.folderOf(node), 'node.env'), 'utf8'));
    return {
      PATH: process.env['PATH'] ?? '',
      LC_ALL: 'C',
      ...(variables as Record<string, string>),
      // Each Patroni has one way to etcd, which a fault can cut.
      PATRONI_ETCD3_HOSTS: `${addressOf(node)}:${ETCD}`,
      PATRONI_ETCD3_USE_PROXIES: 'true',
      ETCD_DATA_DIR: join(this.folderOf(node), 'etcd'),
      // All members share a machine, which may be busy.
      ETCD_HEARTBEAT_INTERVAL: '500',
      ETCD_ELECTION_TIMEOUT: '5000',
    };
  }

  private run(node: number, program: string, ...args: string[]): ChildProcess {
    const cwd = this.folderOf(node);
    const log = openSync(join(cwd, `${program}.log`), 'a');
    const { uid, gid } = this.user ?? {};
    return spawn(program, args, {
      cwd,
      uid,
      gid,
      stdio: ['ignore', log, log],
      env: this.environmentOf(node),
    });
  }
}

/** Requests a page of a node, past the faults of its links. @returns an empty text without a 200 */
async function textOf(node: number, port: number, path: string): Promise<string> {
  const signal = AbortSignal.timeout(2_000);
  const response = await fetch(`http://${innerOf(node)}:${port}${path}`, { signal }).catch(() => undefined);
  return response?.ok ? response.text().catch(() => '') : '';
}

/** Returns the primary if both standbys have its state, and one of them is synchronous. */
async function findHealthyPrimary(): Promise<number | undefined> {
  const isPrimary = await Promise.all(NODES.map((node) => textOf(node, PATRONI, '/primary')));
  const primary = NODES.find((_node, at) => isPrimary[at] !== '');
  const text = primary && (await textOf(primary, PATRONI, '/cluster'));
  if (!text) return undefined;
  const { members } = JSON.parse(text) as { members: Record<string, string | number>[] };
  const roles = new Set(members.map(({ role }) => role));
  const isUp = members.every(
    ({ state, lag = 0 }) => /^(running|streaming)$/.test(String(state)) && lag === 0,
  );
  const timelines = new Set(members.map(({ timeline }) => timeline));
  return isUp && timelines.size === 1 && roles.size === NODES.length && roles.has('sync_standby')
    ? primary
    : undefined;
}

/** Tries to commit until it succeeds. @returns the time, by performance.now() */
async function committing(connectionString: string, ended: AbortSignal): Promise<number> {
  while (!ended.aborted) {
    const client = new Client({ connectionString, connectionTimeoutMillis: 2_000, query_timeout: 60_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      // Waits for the synchronous standby, as every commit does.
      await client.query(`SELECT pg_logical_emit_message(true, 'drill', '')`);
      return performance.now();
    } catch {
      // A standby, or a server that starts or stops.
    } finally {
      void client.end();
    }
    await sleep(POLL_MS);
  }
  return Infinity;
}

/** Returns the processes of the server in the folder, the postmaster first. */
function serverOf(folder: string): readonly number[] {
  try {
    const file = readFileSync(join(folder, 'animal-store', 'postmaster.pid'), 'utf8');
    const postmaster = file.split('\n')[0]!;
    if (!readFileSync(`/proc/${postmaster}/cmdline`, 'utf8').includes(folder)) return [];
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', postmaster], { encoding: 'utf8' });
    return `${postmaster} ${stdout}`.trim().split(/\s+/).map(Number);
  } catch {
    return [];
  }
}
