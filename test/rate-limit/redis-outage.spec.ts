import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp } from '../support/app';
import { type Instances, startInstances } from '../support/instances';
import { scrape, valueOf } from '../support/metrics';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const LIMIT = 60;
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;
const INSTANCES = 2;
const CLIENTS = 8;
/** Long enough for a busy machine. Another test measures the time until an outage is noticed. */
const TIMEOUT_MS = 500;

interface Outage {
  readonly name: string;
  readonly begin: (redis: RedisServer) => unknown;
  readonly end: (redis: RedisServer) => unknown;
}

const OUTAGES: readonly Outage[] = [
  { name: 'frozen', begin: (redis) => redis.freeze(), end: (redis) => redis.thaw() },
  {
    name: 'slow',
    begin: (redis) => redis.command('CLIENT', 'PAUSE', 60_000, 'WRITE'),
    end: (redis) => redis.command('CLIENT', 'UNPAUSE'),
  },
  { name: 'killed', begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  {
    name: 'full',
    begin: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', 1),
    end: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', 0),
  },
  {
    name: 'read-only',
    begin: (redis) => redis.command('REPLICAOF', '127.0.0.1', 1),
    end: (redis) => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
];

describeWithRedis('an outage of Redis', () => {
  let redis: RedisServer;
  let instances: Instances;
  let statuses: number[];
  let linesBefore: number;
  beforeAll(async () => {
    redis = await startRedis();
    instances = await startInstances(INSTANCES, redis, { redisTimeoutMs: TIMEOUT_MS, metricsPort: 0 });
  });
  beforeEach(() => {
    statuses = [];
    linesBefore = log().length;
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  const aKey = async () => (await instances.apps[0]!.createKey({ choice: FREE })).key;
  /** Sends requests from several clients until the work is done. */
  async function underLoad(key: string, work: () => Promise<void>): Promise<void> {
    const load = { isOn: true };
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (load.isOn) {
        statuses.push((await instances.get('/v1/pets?limit=1', { key })).status);
        // Leaves processor time to other specs.
        await sleep(5);
      }
    });
    await work().finally(() => (load.isOn = false));
    await Promise.all(clients);
  }
  const responses = (count: number) => {
    const goal = statuses.length + count;
    return until(() => statuses.length >= goal);
  };
  const allShared = (isShared: boolean) => until(() => instances.shared().every((each) => each === isShared));
  const metric = async () =>
    Promise.all(
      instances.apps.map(async (app) => valueOf(await scrape(app), 'animal_store_rate_limit_shared')),
    );
  // Nest has one logger in a process: all instances write to the log of the latest one.
  const log = () => instances.apps.at(-1)!.log;
  const lines = (text: string) =>
    log()
      .slice(linesBefore)
      .filter((line) => line.includes(text));
  const admitted = () => statuses.filter((status) => status === 200).length;
  const expectNoFailure = () => expect(new Set(statuses)).toEqual(new Set([200, 429]));
  async function expectSharing(): Promise<void> {
    const key = await aKey();
    const asked = Array.from({ length: 3 * LIMIT }, () => instances.get('/v1/pets?limit=1', { key }));
    const together = await Promise.all(asked);
    expect(together.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
  }

  it.each(OUTAGES)(
    '($name): no request fails, no instance admits more than the limit, each change has a log line and a metric',
    async ({ begin, end }) => {
      const key = await aKey();
      for (let at = 0; at < LIMIT / 2; at += 1) {
        statuses.push((await instances.get('/v1/pets?limit=1', { key })).status);
      }
      expect(await metric()).toEqual([1, 1]);
      await begin(redis);
      await underLoad(key, async () => {
        await allShared(false);
        await responses(200);
        // Attempts to use a Redis that is still unavailable.
        const attempts = jest.spyOn(net, 'createConnection');
        await until(() => attempts.mock.calls.length >= 2 * INSTANCES);
        attempts.mockRestore();
        expect(await metric()).toEqual([0, 0]);
        await end(redis);
        await allShared(true);
        await responses(50);
      });
      expect(await metric()).toEqual([1, 1]);
      expectNoFailure();
      expect(admitted()).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted()).toBeLessThanOrEqual(INSTANCES * LIMIT);
      await expectSharing();
      expect(lines('Redis is unavailable')).toHaveLength(INSTANCES);
      expect(lines('Redis is available again')).toHaveLength(INSTANCES);
    },
  );

  it('(flushed): only requests that Redis lost are admitted again, and sharing never ends', async () => {
    const key = await aKey();
    await underLoad(key, async () => {
      for (let at = 0; at < 5; at += 1) {
        await responses(10);
        await redis.command('FLUSHALL');
      }
      await responses(200);
    });
    expectNoFailure();
    expect(admitted()).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted()).toBeLessThanOrEqual(INSTANCES * LIMIT);
    await expectSharing();
    expect(lines('Redis is')).toEqual([]);
  });

  it('(restarted): no request fails, and Redis gets the script again', async () => {
    const key = await aKey();
    await underLoad(key, async () => {
      await responses(20);
      await redis.kill();
      await redis.start();
      await responses(50);
      await allShared(true);
      await responses(50);
    });
    expectNoFailure();
    expect(admitted()).toBeLessThanOrEqual(INSTANCES * LIMIT);
    await expectSharing();
  });

  it('(without the script): Redis gets the script again, and the instances share all the time', async () => {
    const key = await aKey();
    await redis.command('SCRIPT', 'FLUSH');
    expect((await instances.get('/v1/pets?limit=1', { key })).headers['x-ratelimit-remaining']).toBe('59');
    expect((await instances.get('/v1/pets?limit=1', { key })).headers['x-ratelimit-remaining']).toBe('58');
    expect(lines('Redis is')).toEqual([]);
  });
});

describeWithRedis('a start without Redis', () => {
  it('logs a warning, enforces limits locally, and shares when Redis starts', async () => {
    const redis = await startRedis();
    await redis.kill();
    const app = await startApp({ redisUrl: [redis.url()], metricsPort: 0 });
    const shared = async () => valueOf(await scrape(app), 'animal_store_rate_limit_shared');
    expect(
      app.log.filter((line) => line.includes('Redis is unavailable (connect ECONNREFUSED')),
    ).toHaveLength(1);
    expect((await app.get('/v1/pets')).headers['x-ratelimit-remaining']).toBe('999');
    expect(await shared()).toBe(0);
    await redis.start();
    await until(async () => (await shared()) === 1);
    expect((await app.get('/v1/pets')).headers['x-ratelimit-remaining']).toBe('998');
    await app.close();
    await redis.stop();
  });

  it('enforces limits locally with a wrong password, and logs neither the right nor the wrong one', async () => {
    const redis = await startRedis('--requirepass', 'right-secret');
    const url = (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;
    const app = await startApp({ redisUrl: [url('wrong-secret')] });
    expect((await app.get('/v1/pets')).status).toBe(200);
    expect(app.log.some((line) => line.includes('Redis is unavailable (WRONGPASS'))).toBe(true);
    const other = await startApp({ redisUrl: [url('right-secret')] }, { beside: app });
    await other.get('/v1/pets');
    expect(other.log.filter((line) => line.includes('Redis is unavailable'))).toEqual([]);
    expect([...app.log, ...other.log].join()).not.toMatch(/(right|wrong)-secret/);
    await other.close();
    await app.close();
    await redis.stop();
  });

  it('ignores a password if the default user of Redis has none', async () => {
    const redis = await startRedis();
    const app = await startApp({ redisUrl: [`redis://:secret@127.0.0.1:${redis.port}`] });
    expect(app.nest.get(RateLimitStore, { strict: false }).isShared).toBe(true);
    await app.close();
    await redis.stop();
  });

  it('does not wait for a frozen Redis, nor does a stop', async () => {
    const redis = await startRedis();
    const app = await startApp({ redisUrl: [redis.url()] });
    await app.get('/v1/pets');
    redis.freeze();
    await app.restart();
    expect((await app.get('/v1/pets')).status).toBe(200);
    await app.close();
    await redis.stop();
  });
});
