import { type Instances, startInstances } from '../support/instances';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';
import { ThrottledModule } from './support/throttled.module';

/** The specs do not test the speed of a busy machine. */
const PATIENT = { redisTimeoutMs: 10_000 };
const OFFERED = 40;

describeWithRedis('@Throttle in instances that share a Redis', () => {
  let redis: RedisServer;
  let instances: Instances;
  beforeAll(async () => {
    redis = await startRedis();
    instances = await startInstances(2, redis, PATIENT, [ThrottledModule]);
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  const post = (instance: number, key: string) =>
    instances.apps[instance]!.post('/v1/slots', '{}', { key }).then(({ status }) => status);
  const createKey = async () => (await instances.apps[0]!.createKey()).key;

  it('admits exactly the limit of concurrent requests to all of them', async () => {
    const key = await createKey();
    const statuses = await Promise.all(Array.from({ length: OFFERED }, (_, at) => post(at % 2, key)));
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(OFFERED - 5);
  });

  it('calls Redis once for each window, and no more on a route without @Throttle', async () => {
    const key = await createKey();
    const callsOf = async (path: string) => {
      const before = await redis.calls('evalsha');
      await instances.get(path, { key });
      return (await redis.calls('evalsha')) - before;
    };
    expect(await callsOf('/v1/slots')).toBe(1);
    expect(await callsOf('/v1/slots/own')).toBe(2);
    expect(await callsOf('/v1/slots/search')).toBe(3);
  });

  it('continues with its last known counters if Redis is unavailable', async () => {
    const key = await createKey();
    expect([await post(0, key), await post(0, key), await post(0, key)]).toEqual([201, 201, 201]);
    await redis.kill();
    await until(() => instances.shared().every((isShared) => !isShared));
    expect([await post(0, key), await post(0, key), await post(0, key)]).toEqual([201, 201, 429]);
    await redis.start();
  });
});
