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
  let begin: number;
  beforeEach(() => (begin = instances.apps[1]!.log.length));
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
  /** Does what each instance does every second. */
  const runDueWork = async () => {
    for (const each of instances.apps) await each.runDueWork();
  };
  // Nest has one logger in a process: both instances write to the log of the latest one.
  const lines = (text: string) => instances.apps[1]!.log.slice(begin).filter((line) => line.includes(text));

  it('admit exactly the limit of concurrent requests, each with another Remaining, and that of @Throttle', async () => {
    const key = await aKey();
    const responses = await concurrently(3 * LIMIT, (at) => list(at, key));
    const left = responses.filter(isAdmitted).map(remaining);
    expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: LIMIT }, (_, at) => LIMIT - 1 - at));
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(2 * LIMIT);
    const other = await aKey(1_000);
    expect((await concurrently(20, (at) => book(at, other))).filter(isAdmitted)).toHaveLength(5);
  });

  it('share the window of a route whose length a function returns as a fraction of a millisecond', async () => {
    const key = await aKey(1_000);
    const headers = { 'x-seconds': '30.0005' };
    const responses = await concurrently(12, (at) =>
      instances.apps[at]!.get('/v1/trains/by-plan', { key, headers, isDocumented: false }),
    );
    expect(responses.filter(isAdmitted)).toHaveLength(3);
    expect(instances.shared()).toEqual([true, true]);
  });

  it('share a ban within 5 s, which survives a loss of Redis and a restart, and unban lifts it on all within 5 s', async () => {
    const { key, id } = await app.createKey({ choice: { ...SMALL, perMinute: 1 } });
    await list(0, key);
    expectError(await list(0, key), 429, 'rate_limit_exceeded');
    // Each instance shows the strikes that it gave.
    expect((await onBoth(key)).map(({ strikes }) => strikes.count)).toEqual([1, 0]);
    app.clock.advance({ seconds: 1 });
    // Also the requests that were under way when the ban began.
    for (const response of await Promise.all(Array.from({ length: 20 }, () => list(0, key))))
      expectError(response, 429, 'api_key_banned');
    const codeOf = async (at: number) => (await list(at, key)).json.code;
    await runDueWork();
    const bannedUntil = new Date(app.clock.now() + 300_000).toISOString();
    for (const { strikes } of await onBoth(key))
      expect(strikes).toEqual({ count: 0, banAfter: 2, bannedUntil });
    await instances.apps[1]!.restart(async () => void (await redis.command('FLUSHALL')));
    for (const at of BOTH) {
      const banned = await list(at, key);
      expectError(banned, 429, 'api_key_banned');
      expect(banned.headers['retry-after']).toBe('300');
    }
    const unbanned = await app.post(`/v1/keys/${id}/unban`, undefined);
    expect([unbanned.status, unbanned.json.bannedUntil]).toEqual([200, null]);
    await runDueWork();
    for (const at of BOTH) expect(await codeOf(at)).not.toBe('api_key_banned');
    app.clock.advance({ seconds: 60 });
    expect((await list(0, key)).status).toBe(200);
  });

  it('write no counters to PostgreSQL, not even at a stop', async () => {
    // Instances save counters while Redis is unavailable.
    await app.database.query('DELETE FROM rate_limit_counters');
    await list(1, await aKey());
    await instances.apps[1]!.restart();
    const rows = await app.database.query('SELECT 1 FROM rate_limit_counters');
    expect(rows).toEqual([]);
  });

  it('show in GET /v1/key what all of them have counted', async () => {
    const key = await aKey();
    const resetAt = app.clock.now() + 60_000;
    for (const at of [0, 0, 1]) await list(at, key);
    const expected = { remaining: LIMIT - 3, resetAt };
    expect(await onBoth(key)).toMatchObject([expected, expected]);
    // Redis keeps them until the window ends.
    const counters = [await redis.command('KEYS', '*:minute')].flat().map(String);
    const lives = await Promise.all(counters.map((each) => redis.command('PTTL', each)));
    expect(Math.max(...lives.map(Number))).toBeGreaterThan(50_000);
  });

  // redis-connections.spec has a Redis that freezes.
  it('fail no request while Redis is killed, admit at most the limit each, and share again', async () => {
    const keys = [await aKey(), await aKey(1e6)];
    const statuses: number[] = [];
    const ask = async (times: number) => {
      const responses = await concurrently(times, (at) => list(at, keys[0]!));
      statuses.push(...responses.map(({ status }) => status));
    };
    const metric = () =>
      Promise.all(
        instances.apps.map(async (each) => valueOf(await scrape(each), 'animal_store_rate_limit_shared')),
      );
    /** Requests of both instances try Redis. */
    const untilShared = (isShared: 0 | 1) =>
      until(async () => {
        for (const at of BOTH) await list(at, keys[1]!);
        return String(await metric()) === `${isShared},${isShared}`;
      });
    await ask(LIMIT / 2);
    const during = ask(LIMIT / 4);
    await redis.kill();
    await during;
    await untilShared(0);
    await ask(3 * LIMIT);
    await redis.start();
    await untilShared(1);
    await ask(3 * LIMIT);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const admitted = statuses.filter((status) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(2 * LIMIT);
    const changes = ['Redis is unavailable', 'Redis is available again'];
    expect(changes.map((text) => lines(text).length)).toEqual([2, 2]);
    const fresh = await aKey();
    const parallel = await concurrently(2 * LIMIT, (at) => list(at, fresh));
    expect(parallel.filter(isAdmitted)).toHaveLength(LIMIT);
  });
});
