import { AccountsService, ApiKeysService } from '../../src/accounts';
import { SystemClock } from '../../src/platform/runtime/clock';
import type { TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { type HttpResponse, send, sendRaw } from '../support/http';
import { type Instances, startInstances } from '../support/instances';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { startHere } from '../support/start';
import { until } from '../support/until';

const INSTANCES = 3;
const OFFERED = 240;
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;
const PRO = { ...FREE, plan: 'pro' } as const;
/** The specs do not test the speed of a busy machine. */
const PATIENT = { redisTimeoutMs: 10_000 };
const HOUR_MS = 3_600_000;
const CORS_ORIGINS = ['https://shop.example'];

const remaining = ({ headers }: HttpResponse) => Number(headers['x-ratelimit-remaining']);

describeWithRedis('instances that share a Redis', () => {
  let redis: RedisServer;
  let instances: Instances;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    const settings = { ...PATIENT, corsOrigins: CORS_ORIGINS, rateLimitBanAfter: 2 };
    instances = await startInstances(INSTANCES, redis, settings);
    app = instances.apps[0]!;
  });
  afterAll(async () => {
    await instances.close();
    await redis.stop();
  });

  async function untilListed(keyId: string): Promise<void> {
    const keys = app.nest.get(ApiKeysService, { strict: false });
    await until(async () => (await keys.list()).some(({ id, bannedUntil }) => id === keyId && bannedUntil));
  }

  it.each([1, 2, INSTANCES])(
    `%i of them admit exactly the limit of ${OFFERED} concurrent requests, each with another Remaining`,
    async (count) => {
      const { key } = await app.createKey({ choice: FREE });
      const responses = await Promise.all(
        Array.from({ length: OFFERED }, (_, at) =>
          instances.apps[at % count]!.get('/v1/pets?limit=1', { key }),
        ),
      );
      const admitted = responses.filter(({ status }) => status === 200);
      expect(admitted.map(remaining).sort((a, b) => b - a)).toEqual(
        Array.from({ length: 60 }, (_, at) => 59 - at),
      );
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(OFFERED - 60);
    },
  );

  it('call Redis once for each request of the API, and not for other requests or malformed HTTP', async () => {
    const { key } = await app.createKey({ choice: FREE });
    const before = await redis.calls('evalsha');
    for (let at = 0; at < 70; at += 1) await instances.get('/v1/pets?limit=1', { key });
    for (const path of ['/v1/pets/1', '/v1/nothing', '/v1/%ff']) await instances.get(path, { key });
    for (let at = 0; at < 5; at += 1) await instances.get('/v1/pets', { key: undefined });
    expect(await redis.calls('evalsha')).toBe(before + 78);
    for (const path of ['/livez', '/nothing', '/docs']) await instances.get(path, { key });
    const preflight = { origin: CORS_ORIGINS[0]!, 'access-control-request-method': 'POST' };
    await app.send('OPTIONS', '/v1/pets', { key: undefined, headers: preflight });
    await sendRaw(app.url, 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nbroken header\r\n\r\n');
    await sendRaw(app.url, `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(await redis.calls('evalsha')).toBe(before + 78);
  });

  it('share a ban and its end, and unban lifts it on all of them within 5 s', async () => {
    const choice = { plan: 'enterprise', perMinute: 1, perDay: 1_000 } as const;
    const { key, id } = await app.createKey({ choice });
    const ask = () => instances.get('/v1/pets?limit=1', { key });
    await ask();
    await ask();
    app.clock.advance({ seconds: 2 });
    expectError(await ask(), 429, 'rate_limit_exceeded');
    app.clock.advance({ seconds: 1 });
    for (let at = 0; at < INSTANCES; at += 1) {
      const banned = await ask();
      expectError(banned, 429, 'api_key_banned');
      expect(banned.headers['retry-after']).toBe('300');
    }
    const keys = app.nest.get(ApiKeysService, { strict: false });
    // The ban is listed and survives a loss of Redis.
    await untilListed(id);
    await redis.command('FLUSHALL');
    for (let at = 0; at < INSTANCES; at += 1) expectError(await ask(), 429, 'api_key_banned');
    await keys.unban(id);
    app.clock.advance({ seconds: 5 });
    for (let at = 0; at < INSTANCES; at += 1) expectError(await ask(), 429, 'rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await ask()).status).toBe(200);
  });

  it('keep a ban if Redis and every instance are restarted', async () => {
    const { key, id } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
    const ask = () => instances.get('/v1/pets?limit=1', { key });
    for (let at = 0; at < 2; at += 1) await ask();
    for (let strike = 0; strike < 2; strike += 1) {
      app.clock.advance({ seconds: 2 });
      await ask();
    }
    expectError(await ask(), 429, 'api_key_banned');
    await untilListed(id);
    for (const each of instances.apps) {
      await each.restart(async () => void (await redis.command('FLUSHALL')));
    }
    for (let at = 0; at < INSTANCES; at += 1) expectError(await ask(), 429, 'api_key_banned');
  });

  it('apply a larger plan in the middle of a window and keep the counted requests', async () => {
    const { key } = await app.createKey({ account: 'growing', choice: FREE });
    const ask = () => instances.get('/v1/pets?limit=1', { key });
    for (let at = 59; at >= 0; at -= 1) expect(remaining(await ask())).toBe(at);
    for (let at = 0; at < INSTANCES; at += 1) expectError(await ask(), 429, 'rate_limit_exceeded');
    const accounts = app.nest.get(AccountsService, { strict: false });
    await accounts.setPlan('growing', PRO);
    app.clock.advance({ seconds: 5 });
    for (let at = 239; at > 200; at -= 1) {
      const response = await ask();
      expect([response.status, response.headers['x-ratelimit-limit'], remaining(response)]).toEqual([
        200,
        '300',
        at,
      ]);
    }
    await accounts.setPlan('growing', FREE);
    app.clock.advance({ seconds: 5 });
    for (let at = 0; at < INSTANCES; at += 1) {
      const refused = await ask();
      expectError(refused, 429, 'rate_limit_exceeded');
      expect(remaining(refused)).toBe(0);
    }
  });

  it('write no counters to PostgreSQL and log no warning about each other', async () => {
    for (let at = 0; at < INSTANCES; at += 1) await instances.get('/v1/pets', { key: app.key });
    const warnings = instances.apps.flatMap(({ log }) =>
      log.filter((line) => line.includes('without Redis')),
    );
    await instances.apps[1]!.restart();
    const rows = await app.database.query(
      'SELECT 1 FROM rate_limit_counters UNION ALL SELECT 1 FROM rate_limit_instances',
    );
    expect([rows, warnings]).toEqual([[], []]);
  });

  it('count by the time of Redis, even if the clock of an instance is wrong', async () => {
    const database = await createDatabase();
    const fast = jest.spyOn(SystemClock.prototype, 'now').mockImplementation(() => Date.now() + HOUR_MS);
    const service = await startHere({
      DATABASE_URL: database.url,
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      REDIS_TIMEOUT_MS: '5000',
      LOG_LEVEL: 'silent',
    });
    const { headers } = await send(service.url, 'GET', '/v1/pets');
    const windowEndsInMs = Number(headers['x-ratelimit-reset']) * 1_000 - Date.now();
    await service.stop();
    fast.mockRestore();
    await database.drop();
    expect(windowEndsInMs).toBeGreaterThan(0);
    expect(windowEndsInMs).toBeLessThan(2 * 60_000);
  });
});
