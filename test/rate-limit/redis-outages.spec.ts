import { setTimeout as sleep } from 'node:timers/promises';
import { type Instances, startInstances } from '../support/instances';
import { scrape, valueOf } from '../support/metrics';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const LIMIT = 16;
const WORKERS = 2;
/** Longer than a busy machine needs. */
const TIMEOUT_MS = 1_000;

describeWithRedis('two instances while Redis fails', () => {
  let redis: RedisServer;
  let instances: Instances;
  beforeAll(async () => {
    redis = await startRedis();
    instances = await startInstances(2, redis, { redisTimeoutMs: TIMEOUT_MS, metricsPort: 0 });
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  const list = (key: string) => instances.get('/v1/pets?limit=1', { key });
  const aKey = async () =>
    (await instances.apps[0]!.createKey({ choice: { plan: 'enterprise', perMinute: LIMIT, perDay: 1e6 } }))
      .key;
  const metric = () =>
    Promise.all(
      instances.apps.map(async (each) => valueOf(await scrape(each), 'animal_store_rate_limit_shared')),
    );
  // Nest has one logger in a process: both instances write to the log of the latest one.
  const lines = (text: string) => instances.apps[1]!.log.filter((line) => line.includes(text)).length;
  const admitted = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length;
  const untilShared = async () => {
    const { key } = instances.apps[0]!;
    await until(async () => {
      await list(key);
      return instances.shared().every(Boolean);
    });
  };

  it.each<[string, begin: () => unknown, end: () => unknown, isLost: boolean]>([
    ['killed', () => redis.kill(), () => redis.start(), true],
    ['frozen', () => redis.freeze(), () => redis.thaw(), true],
    [
      'full',
      () => redis.command('CONFIG', 'SET', 'maxmemory', 1),
      () => redis.command('CONFIG', 'SET', 'maxmemory', 0),
      true,
    ],
    [
      'read-only',
      () => redis.command('REPLICAOF', '127.0.0.1', 1),
      () => redis.command('REPLICAOF', 'NO', 'ONE'),
      true,
    ],
    ['emptied', () => redis.command('FLUSHALL'), () => undefined, false],
  ])(
    'fail no request if it is %s, admit at most the limit each, and share again',
    async (_name, begin, end, isLost) => {
      await untilShared();
      const [lost, found] = [lines('Redis is unavailable'), lines('Redis is available again')];
      const key = await aKey();
      const statuses: number[] = [];
      const over = new AbortController();
      const load = Array.from({ length: WORKERS }, async () => {
        while (!over.signal.aborted) {
          statuses.push((await list(key)).status);
          await sleep(5);
        }
      });
      await until(() => statuses.length > LIMIT / 2);
      await begin();
      const shared = isLost ? '0,0' : '1,1';
      await until(async () => String(await metric()) === shared);
      const since = statuses.length;
      await until(() => statuses.length > since + 3 * LIMIT);
      expect(String(await metric())).toBe(shared);
      await end();
      await untilShared();
      over.abort();
      await Promise.all(load);
      for (let sent = 0; sent < 3 * LIMIT; sent += 1) statuses.push((await list(key)).status);
      expect(await metric()).toEqual([1, 1]);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(admitted(statuses)).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted(statuses)).toBeLessThanOrEqual(2 * LIMIT);
      const changes = isLost ? 2 : 0;
      expect([lines('Redis is unavailable') - lost, lines('Redis is available again') - found]).toEqual([
        changes,
        changes,
      ]);
      const fresh = await aKey();
      const parallel = await Promise.all(Array.from({ length: 2 * LIMIT }, () => list(fresh)));
      expect(admitted(parallel.map(({ status }) => status))).toBe(LIMIT);
    },
  );
});
