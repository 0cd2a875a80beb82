import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { readConfig, WORKER_MARK } from '../../src/platform/config/config';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { isRunning } from '../support/is-running';
import { lockWaits } from '../support/lock-waits';
import { dataFolder, runMain, running, type RunningService } from '../support/service';
import { until } from '../support/until';

/** Of the plan `free`. */
const PER_MINUTE = 60;
const PARALLEL = 300;

describe('WORKERS=2', () => {
  let database: TestDatabase;
  let service: RunningService;
  let metrics: string;
  let key: string;
  const agent = new Agent({ keepAlive: true });
  const pool = (): Record<string, string> => ({ DATABASE_URL: database.directUrl, WORKERS: '2' });
  // As a pipe of a shell, the file of the secret is read once; a program of a worker keeps its output open.
  const folder = dataFolder();
  const secret = join(folder.path, 'url');
  const child = `process.env.${WORKER_MARK} && require('node:child_process').spawn('tail', ['-f', '/dev/null', '--pid', String(process.ppid)], { stdio: ['ignore', 'inherit', 'ignore'] }).unref();`;
  const readOnce = (): Record<string, string> => {
    writeFileSync(secret, database.directUrl);
    writeFileSync(join(folder.path, 'child.cjs'), child);
    const given = { DATABASE_URL_FILE: secret, NODE_OPTIONS: `--require ${join(folder.path, 'child.cjs')}` };
    return { WORKERS: '2', METRICS_PORT: '0', ...given };
  };
  const createKey = async (plan: string, ...limits: string[]): Promise<string> => {
    const args = ['keys', 'create', '--account', plan, '--plan', plan, ...limits, '--json'];
    return (await runCli(args, { DATABASE_URL: database.url })).json().key;
  };
  const workers = () => workersOf(service.child.pid!);
  const linesWith = (text: string) =>
    service
      .output()
      .split('\n')
      .filter((line) => line.includes(text));
  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    service = await running(runMain({ ...readOnce(), ...environment }));
    await until(() => linesWith('Server listening').length === 2);
    rmSync(secret);
    [, metrics = ''] = /Metrics are at (\S+)\/metrics/.exec(service.output()) ?? [];
  };
  beforeAll(async () => {
    database = await createDatabase();
    await start();
    key = await createKey('enterprise', '--per-minute', '1000000', '--per-day', '1000000');
  });
  // One test stops it.
  beforeEach(async () => {
    if (service.child.exitCode !== null) await start();
  });
  afterAll(async () => {
    agent.destroy();
    folder.remove();
    await database.drop();
  });

  it('is rejected as a word other than auto, which is a worker for each core', () => {
    expect(readConfig({ WORKERS: 'auto' }).workers).toBe(Math.min(availableParallelism(), 64));
    expect(() => readConfig({ WORKERS: 'all' })).toThrow('WORKERS must be');
  });

  it('admits exactly the limit of parallel requests, which both workers serve, and shows the rest alike', async () => {
    const free = await createKey('free');
    const sockets = () => workers().map(socketsOf);
    const before = sockets();
    const responses = await Promise.all(
      Array.from({ length: PARALLEL }, () => send(service.url, 'GET', '/v1/pets', { key: free, agent })),
    );
    const after = sockets();
    expect(after.map((count, at) => count > before[at]!)).toEqual([true, true]);
    const admitted = responses.filter(({ status }) => status === 200);
    expect(
      admitted.map(({ headers }) => Number(headers['x-ratelimit-remaining'])).toSorted(byNumber),
    ).toEqual(Array.from({ length: PER_MINUTE }, (_, at) => at));
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(PARALLEL - PER_MINUTE);
    const shown = await Promise.all(
      Array.from({ length: 10 }, () => send(service.url, 'GET', '/v1/key', { key: free, agent })),
    );
    expect(new Set(shown.map(({ json }) => json.limits.minute.remaining))).toEqual(new Set([0]));
    const text = await scrape(metrics);
    expect(text).toContain(`verdict="admitted"} ${PER_MINUTE}\n`);
    expect(text).toContain(`code="rate_limit_exceeded"} ${PARALLEL - PER_MINUTE}\n`);
    expect(text).toContain('animal_store_process_start_time_seconds ');
  });

  it('replaces a worker that SIGKILL ends; every acknowledged creation is stored, and no counter falls', async () => {
    const [killed, other] = workers();
    const names: string[] = [];
    const failures: number[] = [];
    const load = new AbortController();
    const clients = Array.from({ length: 8 }, async (_, at) => {
      for (let sent = 0; !load.signal.aborted; sent += 1) {
        const name = `creation ${at} ${sent}`;
        const response = await send(service.url, 'POST', '/v1/pets', { key, body: aNewPet({ name }) }).catch(
          () => undefined,
        );
        if (response?.status === 201) names.push(name);
        else if (response) failures.push(response.status);
      }
    });
    await until(() => names.length > 20);
    const counted = admittedIn(await scrape(metrics));
    process.kill(killed!, 'SIGKILL');
    await until(() => linesWith('A worker has ended').length === 1);
    const { length } = names;
    await until(() => names.length > length + 20);
    await until(() => linesWith('Server listening').length === 3);
    load.abort();
    await Promise.all(clients);
    const both = Array.from({ length: 8 }, () => send(service.url, 'GET', '/v1/key', { key }));
    failures.push(
      ...(await Promise.all(both)).map(({ status }) => status).filter((status) => status !== 200),
    );
    expect(failures).toEqual([]);
    expect(workers()).toEqual([other, expect.any(Number)]);
    expect(workers()).not.toContain(killed);
    const rows = await database.query<{ name: string }>('SELECT name FROM pets');
    const stored = new Set(rows.map(({ name }) => name));
    expect(names.filter((name) => !stored.has(name))).toEqual([]);
    expect(admittedIn(await scrape(metrics))).toBeGreaterThanOrEqual(counted);
  });

  it('fails in one sentence with status 1 if the port is in use', async () => {
    const { port } = new URL(service.url);
    const failed = runMain({ ...pool(), PORT: port, LOG_LEVEL: 'silent' });
    expect([await failed.ended, failed.output()]).toEqual([
      1,
      `127.0.0.1:${port} is in use. Stop the program that uses it, or set PORT.\n`,
    ]);
  });

  it('ends every worker with its primary process, and starts again on the same port', async () => {
    const pids = workers();
    service.child.kill('SIGKILL');
    await until(() => !pids.some(isRunning));
    await start({ PORT: new URL(service.url).port });
    expect((await send(service.url, 'GET', '/readyz')).status).toBe(200);
    expect(pids).toHaveLength(2);
  });

  it('ignores signals to its workers, and stops as one service: with one line, and every response', async () => {
    for (const pid of workers()) process.kill(pid, 'SIGTERM');
    const lock = new Client({ connectionString: database.directUrl });
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE pets');
    const inFlight = Array.from({ length: 6 }, (_, at) =>
      send(service.url, 'GET', `/v1/pets?limit=${at + 1}`, { key }),
    );
    const ended = Promise.allSettled(inFlight);
    await until(async () => (await lockWaits(database)).length > 0);
    service.child.kill('SIGTERM');
    service.child.kill('SIGINT');
    await until(() => isRefused(service.url));
    expect((await send(metrics, 'GET', '/readyz')).status).toBe(503);
    await lock.query('COMMIT');
    await lock.end();
    // On a busy machine the last ones may come after the close of the port.
    const answered = (await ended).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value.status] : [],
    );
    expect(new Set(answered)).toEqual(new Set([200]));
    expect(await service.ended).toBe(0);
    expect([linesWith('Stopping ('), linesWith('Stopped.')].map(({ length }) => length)).toEqual([1, 1]);
  });
});

const byNumber = (one: number, other: number): number => one - other;

/** Lists the children of a process. */
function workersOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => isRunning(pid) && parentOf(pid) === parent);
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((fd) => readlinkSync(`${folder}/${fd}`));
  return targets.filter((target) => target.startsWith('socket:')).length;
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Adds up the admitted requests of every plan. */
function admittedIn(text: string): number {
  const values = [...text.matchAll(/decisions_total\{.*verdict="admitted"\} (\d+)/g)];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
