import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
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
const NODES = [1, 2, 3];
const [ETCD, PEERS, POSTGRES, PATRONI] = [2379, 2380, 5432, 8008];
const PROXY_PORT = 5000;
const PROGRAMS = ['patroni', 'etcd', 'haproxy', '/usr/lib/postgresql/15/bin/postgres'];
const HEALTHY_MS = 180_000;
const POLL_MS = 50;

/** A loopback network of this process, in which each node has an address of its own. */
const NETWORK = `127.${1 + (process.pid % 250)}.${Math.floor(process.pid / 250) % 250}`;
/** The address that others use; a link leads from it to the inner one. */
const addressOf = (node: number): string => `${NETWORK}.${node}`;
const innerOf = (node: number): string => `${NETWORK}.${node + 10}`;

type Signal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

export interface Cluster {
  readonly version: string;
  /** The database of the service, through all hosts or through HAProxy. */
  url(through: 'hosts' | 'haproxy'): string;
  /** Returns the database on the primary, without the links. */
  primaryUrl(): Promise<string>;
  /** Waits for a primary, a synchronous standby and another one that have the same state. @returns the primary */
  healthy(): Promise<number>;
  /** Waits for the next node whose commit succeeds. @returns its time, by performance.now() */
  writable(nodes: readonly number[]): Promise<number>;
  others(node: number): readonly number[];
  startPatroni(node: number): void;
  /** Sends a signal to Patroni, and to PostgreSQL's processes unless `isPatroniOnly`. */
  signal(node: number, name: Signal, isPatroniOnly?: boolean): void;
  switchOver(from: number): Promise<void>;
  /** Loses the packets between a node and etcd; with `isWhole` all packets to the node. @returns a function that heals it */
  cutOff(node: number, isWhole: boolean): () => void;
  stop(): void;
}

/** Starts three nodes with etcd, and HAProxy, from the files in deploy/patroni. */
export async function startCluster(): Promise<Cluster> {
  const missing = PROGRAMS.filter((each) => spawnSync(each, ['--version']).error);
  if (missing.length > 0)
    throw new Error(
      `${missing.join(', ')} not found: apt-get install patroni etcd-server haproxy postgresql-15`,
    );
  const folder = dataFolder();
  const { uid, gid } = chooseServerUser() ?? {};
  const own = (path: string) => uid !== undefined && gid !== undefined && chownSync(path, uid, gid);
  own(folder.path);
  const folderOf = (node: number) => join(folder.path, String(node));
  const links = new Map<string, Link>();
  const patronis = new Map<number, ChildProcess>();
  const others: ChildProcess[] = [];

  const environmentOf = (node: number): Record<string, string> => {
    const { PATH = '' } = process.env;
    const variables = parseEnv(readFileSync(join(folderOf(node), 'node.env'), 'utf8')) as Record<
      string,
      string
    >;
    const way = `${addressOf(node)}:${ETCD}`;
    const own = { PATRONI_ETCD3_HOSTS: way, PATRONI_ETCD3_USE_PROXIES: 'true', PATRONI_LOG_LEVEL: 'INFO' };
    const slow = { ETCD_HEARTBEAT_INTERVAL: '500', ETCD_ELECTION_TIMEOUT: '5000' };
    return { PATH, LC_ALL: 'C', ...variables, ...own, ...slow, ETCD_DATA_DIR: join(folderOf(node), 'etcd') };
  };
  const run = (node: number, program: string, ...args: string[]): ChildProcess => {
    const log = openSync(join(folderOf(node), `${program}.log`), 'a');
    const options = {
      cwd: folderOf(node),
      stdio: ['ignore', log, log] as ['ignore', number, number],
      uid,
      gid,
    };
    return spawn(program, args, { ...options, env: environmentOf(node) });
  };
  const startPatroni = (node: number): void =>
    void patronis.set(node, run(node, 'patroni', join(folderOf(node), 'patroni.yml')));
  const isPrimary = async (node: number): Promise<number> => {
    const { status } = await fetch(`http://${innerOf(node)}:${PATRONI}/primary`, {
      signal: AbortSignal.timeout(1_000),
    });
    return status === 200 ? node : Promise.reject(new Error('a standby'));
  };
  const urlOf = (hosts: string): string =>
    `postgresql://animal_store:${environmentOf(1)['ANIMAL_STORE_PASSWORD']}@${hosts}/animal_store`;

  for (const node of NODES) {
    mkdirSync(folderOf(node));
    for (const file of readdirSync(CONFIGURATION)) {
      const text = readFileSync(join(CONFIGURATION, file), 'utf8');
      writeFileSync(join(folderOf(node), file), placed(text, node, folderOf(node)));
    }
    own(folderOf(node));
    for (const port of [ETCD, POSTGRES, PATRONI])
      links.set(`${node}:${port}`, await openLink(addressOf(node), innerOf(node), port));
    others.push(run(node, 'etcd'));
  }
  // Patroni ends if the members have not agreed on a version; systemd would start it again.
  for (const node of NODES) await until(() => isReady(`http://${innerOf(node)}:${ETCD}/version`));
  others.push(run(1, 'haproxy', '-f', join(folderOf(1), 'haproxy.cfg')));
  for (const node of NODES) startPatroni(node);

  const cluster: Cluster = {
    version: spawnSync('patroni', ['--version'], { encoding: 'utf8' }).stdout.trim(),
    url: (through) => {
      const hosts = NODES.map((node) => `${addressOf(node)}:${POSTGRES}`);
      return urlOf(through === 'hosts' ? hosts.join(',') : `${NETWORK}.9:${PROXY_PORT}`);
    },
    primaryUrl: async () => urlOf(`${innerOf(await Promise.any(NODES.map(isPrimary)))}:${POSTGRES}`),
    healthy: async () => {
      let primary = 0;
      await until(async () => {
        primary = await Promise.any(NODES.map(isPrimary)).catch(() => 0);
        return primary > 0 && (await isHealthy(primary).catch(() => false));
      }, HEALTHY_MS);
      return primary;
    },
    writable: async (nodes) => {
      const found = new AbortController();
      const tries = nodes.map((node) => committing(urlOf(innerOf(node)), found.signal));
      return Promise.race(tries).finally(() => found.abort());
    },
    others: (node) => NODES.filter((each) => each !== node),
    startPatroni,
    signal: (node, name, isPatroniOnly = false) => {
      const { pid = 0, exitCode } = patronis.get(node)!;
      const pids = exitCode === null ? [pid] : [];
      for (const each of isPatroniOnly ? pids : [...pids, ...serverOf(folderOf(node))]) send(each, name);
    },
    switchOver: async (from) => {
      const { PATRONI_RESTAPI_USERNAME: user, PATRONI_RESTAPI_PASSWORD: password } = environmentOf(from);
      const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
      const body = JSON.stringify({ leader: addressOf(from) });
      const response = await fetch(`http://${innerOf(from)}:${PATRONI}/switchover`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body,
      });
      if (!response.ok) throw new Error(`no switchover: ${await response.text()}`);
    },
    cutOff: (node, isWhole) => {
      const ports = isWhole ? [ETCD, POSTGRES, PATRONI] : [ETCD];
      const lost = ports.map((port) => links.get(`${node}:${port}`)!);
      for (const link of lost) link.cut();
      return () => lost.forEach((link) => link.heal());
    },
    stop: () => {
      for (const node of NODES) cluster.signal(node, 'SIGKILL');
      for (const each of others) each.kill('SIGKILL');
      for (const link of links.values()) link.close();
      spawnSync('sh', [
        '-c',
        `for n in 1 2 3; do mkdir -p $KEEP/$n; cp ${folder.path}/$n/*.log $KEEP/$n; done`,
      ]);
      folder.remove();
    },
  };
  return cluster;
}

/** Returns a file of deploy/patroni with the addresses and folders of a node in this network. */
function placed(text: string, node: number, folder: string): string {
  return text
    .replaceAll('THIS_NODE', `db${node}`)
    .replaceAll(/db(\d):2380/g, (_name, of: string) => `${innerOf(Number(of))}:${PEERS}`)
    .replaceAll(/\bdb(\d)\b/g, (_name, of: string) => addressOf(Number(of)))
    .replaceAll('0.0.0.0', innerOf(node))
    .replaceAll('127.0.0.1', `${NETWORK}.9`)
    .replaceAll(/\/etc\/patroni(?=\/)|\/var\/(lib|run)\/postgresql/g, folder);
}

/** Returns true for an etcd whose cluster has formed. */
async function isReady(url: string): Promise<boolean> {
  const text = await fetch(url).then(
    (response) => response.text(),
    () => '',
  );
  return /"etcdcluster":"\d/.test(text);
}

/** Returns true if both standbys have the state of the primary, and one of them is synchronous. */
async function isHealthy(primary: number): Promise<boolean> {
  const response = await fetch(`http://${innerOf(primary)}:${PATRONI}/cluster`, {
    signal: AbortSignal.timeout(2_000),
  });
  const { members } = (await response.json()) as {
    members: { role: string; state: string; timeline?: number; lag?: number | string }[];
  };
  const roles = members.map(({ role }) => role).toSorted();
  const isUp = members.every(({ state, lag = 0 }) => /^(running|streaming)$/.test(state) && lag === 0);
  const timelines = new Set(members.map(({ timeline }) => timeline));
  return isUp && timelines.size === 1 && roles.join() === 'leader,replica,sync_standby';
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
    const postmaster = Number(file.split('\n')[0]);
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' });
    const isServer = readFileSync(`/proc/${postmaster}/cmdline`, 'utf8').includes(folder);
    return isServer ? [postmaster, ...stdout.trim().split(/\s+/).filter(Boolean).map(Number)] : [];
  } catch {
    return [];
  }
}

function send(pid: number, name: Signal): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has just ended.
  }
}
