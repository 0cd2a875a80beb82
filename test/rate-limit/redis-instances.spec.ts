import net from 'node:net';
import { ApiKeysService } from '../../src/accounts';
import { keysOf } from '../../src/rate-limit/redis.script';
import type { TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { type Instances, startInstances } from '../support/instances';
import { scrape, valueOf } from '../support/metrics';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';
import { ThrottledModule } from './support/throttled.module';

const BOTH = [0, 1] as const;
const LIMIT = 20;
const SMALL = { plan: 'enterprise', perMinute: LIMIT, perDay: 1_000 } as const;
/** The specs do not test the speed of a busy machine. */
const PATIENT = { redisTimeoutMs: 10_000 };

const remaining = ({ headers }: HttpResponse) => Number(headers['x-ratelimit-remaining']);
const isAdmitted = ({ status }: HttpResponse) => status === 200 || status === 201;

describeWithRedis('instances that share a Redis', () => {
  let redis: RedisServer;
  let instances: Instances;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    const bans = { rateLimitBanAfter: 2, rateLimitBanSeconds: 300 };
    const settings = { ...PATIENT, ...bans, metricsPort: 0 };
    instances = await startInstances(2, redis, settings, [ThrottledModule]);
    app = instances.apps[0]!;
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  const aKey = async (perMinute = LIMIT) => (await app.createKey({ choice: { ...SMALL, perMinute } })).key;
  const list = (at: number, key: string) => instances.apps[at]!.get('/v1/pets?limit=1', { key });
  const book = (at: number, key: string) => instances.apps[at]!.post('/v1/slots', '{}', { key });
  const concurrently = (count: number, ask: (at: number) => Promise<HttpResponse>) =>
    Promise.all(Array.from({ length: count }, (_, at) => ask(at % 2)));
  async function getKey(at: number, key: string) {
    const { status, headers, json } = await instances.apps[at]!.get('/v1/key', { key });
    expect(status).toBe(200);
    const { minute } = json.limits;
    expect(headers['x-ratelimit-remaining']).toBe(String(minute.remaining));
    return { remaining: minute.remaining, resetAt: Date.parse(minute.resetAt), strikes: json.strikes };
  }
  const onBoth = async (key: string) => [await getKey(0, key), await getKey(1, key)];
  const keys = () => app.nest.get(ApiKeysService, { strict: false });
  const untilListed = (keyId: string) =>
    until(async () => (await keys().list()).some(({ id, bannedUntil }) => id === keyId && bannedUntil));
  // Nest has one logger in a process: both instances write to the log of the latest one.
  const lines = (text: string) => instances.apps[1]!.log.filter((line) => line.includes(text));

  it('admit exactly the limit of concurrent requests, each with another Remaining, and that of @Throttle', async () => {
    const key = await aKey();
    const responses = await concurrently(3 * LIMIT, (at) => list(at, key));
    const left = responses.filter(isAdmitted).map(remaining);
    expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: LIMIT }, (_, at) => LIMIT - 1 - at));
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(2 * LIMIT);
    const other = await aKey(1_000);
    expect((await concurrently(20, (at) => book(at, other))).filter(isAdmitted)).toHaveLength(5);
  });

  it('share a ban and its end, and unban lifts it on all of them within 5 s', async () => {
    const { key, id } = await app.createKey({ choice: { ...SMALL, perMinute: 1 } });
    const ask = () => instances.get('/v1/pets?limit=1', { key });
    await ask();
    await ask();
    app.clock.advance({ seconds: 2 });
    expectError(await ask(), 429, 'rate_limit_exceeded');
    for (const { strikes } of await onBoth(key)) expect(strikes).toMatchObject({ count: 1 });
    app.clock.advance({ seconds: 1 });
    for (const _ of BOTH) {
      const banned = await ask();
      expectError(banned, 429, 'api_key_banned');
      expect(banned.headers['retry-after']).toBe('300');
    }
    const bannedUntil = new Date(app.clock.now() + 300_000).toISOString();
    for (const { strikes } of await onBoth(key))
      expect(strikes).toEqual({ count: 0, banAfter: 2, bannedUntil });
    // The ban is listed and survives a loss of Redis, and restarts.
    await untilListed(id);
    await redis.command('FLUSHALL');
    for (const _ of BOTH) expectError(await ask(), 429, 'api_key_banned');
    await instances.apps[1]!.restart(async () => void (await redis.command('FLUSHALL')));
    for (const at of [1, 0]) expectError(await list(at, key), 429, 'api_key_banned');
    await keys().unban(id);
    app.clock.advance({ seconds: 5 });
    // The first instance still knows the counters.
    for (const at of BOTH) expectError(await list(at, key), 429, 'rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await ask()).status).toBe(200);
  });

  it('write no counters to PostgreSQL, not even at a stop, and log no warning about each other', async () => {
    // An instance has been stopped above.
    const rows = await app.database.query(
      'SELECT 1 FROM rate_limit_counters UNION ALL SELECT 1 FROM rate_limit_instances',
    );
    expect([rows, lines('without Redis')]).toEqual([[], []]);
  });

  it('show in GET /v1/key what all of them have counted, even if Redis lost it', async () => {
    const key = await aKey();
    const resetAt = app.clock.now() + 60_000;
    const expectLeft = async (left: number) => {
      const expected = { remaining: left, resetAt };
      expect(await onBoth(key)).toMatchObject([expected, expected]);
    };
    for (const at of [0, 0, 1]) await list(at, key);
    await expectLeft(LIMIT - 3);
    await redis.command('FLUSHALL');
    await expectLeft(LIMIT - 3);
    await list(1, key);
    await expectLeft(LIMIT - 4);
  });

  it('continue with their known counters if a key in Redis has another type, or Redis lost the script', async () => {
    const { key, id } = await app.createKey({ choice: SMALL });
    const left = async () => remaining(await list(0, key));
    expect(await left()).toBe(LIMIT - 1);
    const [row] = await app.database.query<{ account: string }>(
      'SELECT account_id AS account FROM api_keys WHERE id = $1',
      [id],
    );
    for (const [at, name] of keysOf(`account:${row!.account}`, id).entries()) {
      await redis.command('DEL', name);
      await redis.command('LPUSH', name, 'x');
      expect(await left()).toBe(LIMIT - 2 - at);
    }
    await redis.command('SCRIPT', 'FLUSH');
    expect(await left()).toBe(LIMIT - 5);
    expect(lines('Redis is')).toEqual([]);
  });

  it.each([
    { name: 'killed', begin: () => redis.kill(), end: () => redis.start() },
    {
      name: 'full',
      begin: () => redis.command('CONFIG', 'SET', 'maxmemory', 1),
      end: () => redis.command('CONFIG', 'SET', 'maxmemory', 0),
    },
  ])(
    'fail no request while Redis is $name, never admit more than the limit each, and share again when it returns',
    async ({ begin, end }) => {
      const shared = (isShared: boolean) =>
        until(async () => {
          for (const at of BOTH) await list(at, app.key);
          return instances.shared().every((each) => each === isShared);
        });
      const metric = () =>
        Promise.all(
          instances.apps.map(async (each) => valueOf(await scrape(each), 'animal_store_rate_limit_shared')),
        );
      const [lost, found] = [lines('is unavailable').length, lines('is available again').length];
      const [key, other] = [await aKey(), await aKey(1_000)];
      const responses: HttpResponse[] = await concurrently(LIMIT / 2, (at) => list(at, key));
      expect((await concurrently(3, (at) => book(at, other))).every(isAdmitted)).toBe(true);
      const known = (await book(0, other)).headers['ratelimit'];
      expect(await metric()).toEqual([1, 1]);
      await begin();
      await shared(false);
      const attempts = jest.spyOn(net, 'createConnection');
      for (const at of BOTH) for (let sent = 0; sent < LIMIT; sent += 1) responses.push(await list(at, key));
      expect((await onBoth(key)).map((each) => each.remaining)).toEqual([0, 0]);
      expect([isAdmitted(await book(0, other)), isAdmitted(await book(0, other))]).toEqual([true, false]);
      expect(known).toContain('"default";r=1;');
      // Attempts to use a Redis that is still unavailable.
      await until(() => attempts.mock.calls.length >= 2 * BOTH.length);
      attempts.mockRestore();
      expect([await metric(), instances.shared()]).toEqual([
        [0, 0],
        [false, false],
      ]);
      await end();
      await shared(true);
      expect(await metric()).toEqual([1, 1]);
      responses.push(...(await concurrently(4, (at) => list(at, key))));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 429]));
      const admitted = responses.filter(isAdmitted).length;
      expect(admitted).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted).toBeLessThanOrEqual(BOTH.length * LIMIT);
      const fresh = await aKey();
      expect((await concurrently(2 * LIMIT, (at) => list(at, fresh))).filter(isAdmitted)).toHaveLength(LIMIT);
      expect([lines('is unavailable').length - lost, lines('is available again').length - found]).toEqual([
        2, 2,
      ]);
    },
  );
});
