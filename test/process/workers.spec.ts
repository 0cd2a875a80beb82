import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { readConfig } from '../../src/config/config';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { send } from '../support/http';
import { isRefused } from '../support/is-refused';
import { lockWaits } from '../support/lock-waits';
import { PATIENCE } from '../support/no-settings';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { dataFolder } from '../support/service';
import { rejectionOf, type ServiceHere, startHere } from '../support/start';
import { until } from '../support/until';

/** Of the plan `free`. */
const PER_MINUTE = 60;
const PARALLEL = 200;

/** A program of a worker keeps its output open, and ends up to two seconds after it. */
const CHILD = `require('node:child_process').spawn('tail', ['-f', '/dev/null', '-s', '2', '--pid', String(process.pid)], { stdio: ['ignore', 'inherit', 'ignore'] }).unref();`;

/** This process is the primary one. */
describeWithRedis('WORKERS=2', () => {
  const folder = dataFolder();
  const agent = new Agent({ keepAlive: true });
  let database: TestDatabase;
  let redis: RedisServer;
  let service: ServiceHere;
  let metrics: string;
  let key: string;
  let free: string;
  const createKey = async (plan: string, ...limits: string[]): Promise<string> => {
    const args = ['keys', 'create', '--account', plan, '--plan', plan, ...limits, '--json'];
    return (await runCli(args, { DATABASE_URL: database.url })).json().key;
  };
  const workers = () => Object.values(cluster.workers!) as Worker[];
  const scrape = async () => (await fetch(`${metrics}/metrics`)).text();
  const linesWith = (text: string) => service.log.filter((line) => line.includes(text));
  /** Two clients for each core send creations. @returns the names of those that were acknowledged, and other statuses */
  const createAnimals = async (count: number) => {
    const [names, failures]: [string[], number[]] = [[], []];
    const create = async (_: unknown, client: number) => {
      for (let at = 0; at < count; at += 1) {
        const name = `creation ${count} ${client} ${at}`;
        const body = aNewPet({ name });
        const response = await send(service.url, 'POST', '/v1/pets', { key, body }).catch(() => undefined);
        if (response?.status === 201) names.push(name);
        else if (response) failures.push(response.status);
      }
    };
    await Promise.all(Array.from({ length: 4 }, create));
    return { names, failures };
  };
  beforeAll(async () => {
    database = await createDatabase();
    redis = await startRedis();
    // A command replaces the logger of its process, so these come before the service.
    key = await createKey('enterprise', '--per-minute', '1000000', '--per-day', '1000000');
    free = await createKey('free');
    const settings = {
      ...PATIENCE,
      DATABASE_URL: database.directUrl,
      METRICS_PORT: '0',
      PORT: '0',
      REDIS_URL: redis.url(),
      WORKERS: '2',
    };
    const hook = join(folder.path, 'child.cjs');
    // Workers have the environment of the primary process, which has these settings only as an argument.
    writeFileSync(hook, `Object.assign(process.env, ${JSON.stringify(settings)}); ${CHILD}`);
    // Not setupPrimary: its first call fixes the scheduling policy, which the service chooses.
    Object.assign(cluster.settings, {
      exec: require.resolve('../support/main.cjs'),
      execArgv: ['-r', require.resolve('../support/typescript.cjs'), '-r', hook],
      args: [],
    });
    let listening = 0;
    const both = new Promise<void>((resolve) => {
      cluster.on('listening', () => (listening += 1) === 2 && resolve());
    });
    service = await startHere(settings);
    await both;
    [, metrics = ''] = /Metrics are at (\S+)\/metrics/.exec(service.log.join('')) ?? [];
  });
  afterAll(async () => {
    cluster.removeAllListeners('listening');
    agent.destroy();
    // A test has failed.
    if (workers().length > 0) await service.stop();
    folder.remove();
    await redis.stop();
    await database.drop();
  });

  it('is rejected as a word other than auto, which is a worker for each core, and without REDIS_URL', async () => {
    expect(readConfig({ WORKERS: 'auto', REDIS_URL: 'redis://a' }).workers).toBe(
      Math.min(availableParallelism(), 64),
    );
    expect(() => readConfig({ WORKERS: 'all' })).toThrow('WORKERS must be');
    expect(await rejectionOf({ WORKERS: '2' })).toMatch(/^WORKERS above 1 needs REDIS_URL,/);
  });

  /** Each step continues with the workers of the step before: a worker takes a second. */
  const steps = {
    'admits exactly the limit of parallel requests, which both workers serve, and shows the rest alike':
      async () => {
        const sockets = () => workers().map(socketsOf);
        const before = sockets();
        const responses = await Promise.all(
          Array.from({ length: PARALLEL }, () => send(service.url, 'GET', '/v1/pets', { key: free, agent })),
        );
        expect(sockets().map((count, at) => count > before[at]!)).toEqual([true, true]);
        const admitted = responses.filter(({ status }) => status === 200);
        const remaining = admitted.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
        expect(remaining.toSorted((one, other) => one - other)).toEqual(
          Array.from({ length: PER_MINUTE }, (_, at) => at),
        );
        expect(responses.filter(({ status }) => status === 429)).toHaveLength(PARALLEL - PER_MINUTE);
        const shown = await Promise.all(
          Array.from({ length: 10 }, () => send(service.url, 'GET', '/v1/key', { key: free, agent })),
        );
        expect(new Set(shown.map(({ json }) => json.limits.minute.remaining))).toEqual(new Set([0]));
        const text = await scrape();
        expect(text).toContain(`code="rate_limit_exceeded"} ${PARALLEL - PER_MINUTE}\n`);
        expect(text).toContain('animal_store_process_start_time_seconds ');
        // The primary process, which does the periodic work, has a pool as each of its two workers.
        expect(Number(/database_pool_size (\d+)/.exec(text)?.[1]) % 3).toBe(0);
      },
    'replaces a worker that SIGKILL ends; every acknowledged creation is stored': async () => {
      const [killed, other] = workers() as [Worker, Worker];
      const before = await createAnimals(5);
      const load = createAnimals(30);
      const replaced = once(cluster, 'listening');
      process.kill(killed.process.pid!, 'SIGKILL');
      const during = await load;
      const [replacement] = await replaced;
      const after = await createAnimals(6);
      expect([before, during, after].flatMap(({ failures }) => failures)).toEqual([]);
      expect(workers()).toEqual([other, replacement]);
      expect(linesWith('A worker has ended')).toHaveLength(1);
      const rows = await database.query<{ name: string }>('SELECT name FROM pets');
      const stored = new Set(rows.map(({ name }) => name));
      const names = [before, during, after].flatMap((each) => each.names);
      expect(names.filter((name) => !stored.has(name))).toEqual([]);
      expect(names.length).toBeGreaterThan(4 * (5 + 6));
    },
    'stops as one service: with one line, and every response; its workers end with their primary, not by signals':
      async () => {
        const [first, orphan] = workers() as [Worker, Worker];
        // As if the primary process had ended.
        orphan.process.disconnect();
        expect(await once(orphan, 'exit')).toEqual([0, null]);

        process.kill(first.process.pid!, 'SIGTERM');
        const lock = new Client({ connectionString: database.directUrl });
        await lock.connect();
        await lock.query('BEGIN; LOCK TABLE pets');
        // Requests for different pages share no query.
        const inFlight = Array.from({ length: 6 }, (_, at) =>
          at % 2 === 0
            ? send(service.url, 'GET', `/v1/pets?limit=${at + 1}`, { key })
            : send(service.url, 'POST', '/v1/pets', { key, body: aNewPet() }),
        );
        const ended = Promise.allSettled(inFlight);
        await until(async () => (await lockWaits(database)).length > 0);
        const ends = once(first, 'exit');
        const stopped = service.stop();
        await until(() => isRefused(service.url));
        expect((await send(metrics, 'GET', '/readyz')).status).toBe(503);
        await lock.query('COMMIT');
        await lock.end();
        // On a busy machine the last ones may come after the close of the port.
        const answered = (await ended).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
        expect(new Set(answered.map((each) => each.status))).toEqual(new Set([200, 201]));
        expect(new Set(answered.map((each) => each.headers.connection))).toEqual(new Set(['close']));
        await stopped;
        expect(await ends).toEqual([0, null]);
        expect(workers()).toEqual([]);
        // Of the workers.
        expect(linesWith('rate_limit_exceeded').length).toBeGreaterThan(0);
        expect([linesWith('Stopping…'), linesWith('Stopped.')].map(({ length }) => length)).toEqual([1, 1]);
      },
  };
  it(`on one port: ${Object.keys(steps).join('; ')}`, async () => {
    expect.hasAssertions();
    for (const step of Object.values(steps)) await step();
  });
});

function socketsOf({ process: { pid } }: Worker): number {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((fd) => readlinkSync(`${folder}/${fd}`));
  return targets.filter((target) => target.startsWith('socket:')).length;
}
