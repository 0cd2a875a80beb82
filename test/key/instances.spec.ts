import { type Instances, startInstances } from '../support/instances';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const SMALL = { plan: 'enterprise', perMinute: 3, perDay: 9 } as const;
const BANS = { rateLimitBanAfter: 2, rateLimitBanSeconds: 300 };

describeWithRedis('GET /v1/key of instances that share a Redis', () => {
  let redis: RedisServer;
  let instances: Instances;
  beforeAll(async () => {
    redis = await startRedis();
    instances = await startInstances(2, redis, { ...BANS, redisTimeoutMs: 10_000 });
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  const aKey = async () => (await instances.apps[0]!.createKey({ choice: SMALL })).key;
  const list = (at: number, key: string) => instances.apps[at]!.get('/v1/pets', { key });
  const getKey = async (at: number, key: string) => {
    const { status, headers, json } = await instances.apps[at]!.get('/v1/key', { key });
    expect(status).toBe(200);
    const { minute } = json.limits;
    expect(headers['x-ratelimit-remaining']).toBe(String(minute.remaining));
    return { remaining: minute.remaining, resetAt: Date.parse(minute.resetAt), strikes: json.strikes };
  };
  const advance = (seconds: number) => instances.apps[0]!.clock.advance({ seconds });

  it('shows on each instance what all of them have counted', async () => {
    const key = await aKey();
    const resetAt = instances.apps[0]!.clock.now() + 60_000;
    await list(0, key);
    await list(0, key);
    for (const at of [0, 1]) expect(await getKey(at, key)).toMatchObject({ remaining: 1, resetAt });
    await list(1, key);
    for (const at of [0, 1]) expect(await getKey(at, key)).toMatchObject({ remaining: 0, resetAt });
  });

  it('shows on each instance the strikes and the ban of another', async () => {
    const key = await aKey();
    for (let sent = 0; sent < 4; sent += 1) await list(0, key);
    advance(2);
    await list(0, key);
    for (const at of [0, 1]) expect((await getKey(at, key)).strikes).toMatchObject({ count: 1 });
    advance(2);
    expect((await list(0, key)).json.code).toBe('api_key_banned');
    const bannedUntil = new Date(instances.apps[0]!.clock.now() + 300_000).toISOString();
    for (const at of [0, 1]) {
      expect((await getKey(at, key)).strikes).toEqual({ count: 0, banAfter: 2, bannedUntil });
    }
  });

  it('shows on each instance what one of them knows and Redis has lost', async () => {
    const key = await aKey();
    await list(0, key);
    await redis.command('FLUSHALL');
    for (const at of [0, 1]) expect(await getKey(at, key)).toMatchObject({ remaining: 2 });
    await list(1, key);
    for (const at of [0, 1]) expect(await getKey(at, key)).toMatchObject({ remaining: 1 });
  });

  it('shows on each instance what it knows while Redis is unavailable, and what all know afterwards', async () => {
    const key = await aKey();
    await list(0, key);
    expect((await getKey(1, key)).remaining).toBe(2);
    await redis.kill();
    await until(async () => {
      await getKey(0, key);
      await getKey(1, key);
      return instances.shared().every((isShared) => !isShared);
    });
    await list(1, key);
    expect([(await getKey(0, key)).remaining, (await getKey(1, key)).remaining]).toEqual([2, 1]);
    await redis.start();
    await until(() => instances.shared().every(Boolean));
    await list(1, key);
    for (const at of [0, 1]) expect((await getKey(at, key)).remaining).toBe(0);
  });
});
