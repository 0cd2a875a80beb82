import { type Instances, startInstances } from '../support/instances';
import { scrape, valueOf } from '../support/metrics';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const LIMIT = 16;
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
  /** Requests of both instances try Redis. */
  const untilShared = (isShared: 0 | 1) =>
    until(async () => {
      for (const { key } of instances.apps) await list(key);
      return String(await metric()) === `${isShared},${isShared}`;
    });

  it.each<[string, begin: () => unknown, end: () => unknown]>([
    ['killed', () => redis.kill(), () => redis.start()],
    ['frozen', () => redis.freeze(), () => redis.thaw()],
  ])(
    'fail no request if it is %s, admit at most the limit each, and share again',
    async (_name, begin, end) => {
      await untilShared(1);
      const [lost, found] = [lines('Redis is unavailable'), lines('Redis is available again')];
      const key = await aKey();
      const statuses: number[] = [];
      const ask = async (times: number) => {
        const responses = await Promise.all(Array.from({ length: times }, () => list(key)));
        statuses.push(...responses.map(({ status }) => status));
      };
      await ask(LIMIT / 2);
      const during = ask(LIMIT / 4);
      await begin();
      await during;
      await untilShared(0);
      await ask(3 * LIMIT);
      expect(await metric()).toEqual([0, 0]);
      await end();
      await untilShared(1);
      await ask(3 * LIMIT);
      expect(await metric()).toEqual([1, 1]);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(admitted(statuses)).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted(statuses)).toBeLessThanOrEqual(2 * LIMIT);
      expect([lines('Redis is unavailable') - lost, lines('Redis is available again') - found]).toEqual([
        2, 2,
      ]);
      const fresh = await aKey();
      const parallel = await Promise.all(Array.from({ length: 2 * LIMIT }, () => list(fresh)));
      expect(admitted(parallel.map(({ status }) => status))).toBe(LIMIT);
    },
  );
});
