import type { PlanChoice } from '../../src/auth';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { type HttpResponse, sendRaw } from '../support/http';

const DAY = 86_400;
const BUDGET = 20;

/** Limit, Remaining and Reset. */
function shown({ headers }: HttpResponse): number[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
}

describe('limits by plan', () => {
  let app: TestApp;
  let midnight: number;
  beforeAll(async () => {
    app = await startApp({ rateLimitAnonymousPerMinute: BUDGET, trustProxy: ['127.0.0.1', '10.0.0.0/8'] });
  });
  /** Continues at noon. */
  beforeEach(() => {
    const now = app.clock.now() / 1_000;
    const nextNoon = Math.ceil(now / DAY - 0.5) * DAY + DAY / 2;
    app.clock.advance({ seconds: nextNoon - now });
    midnight = nextNoon + DAY / 2;
  });

  const keyOn = async (choice: PlanChoice) => (await app.createKey({ choice })).key;

  it('Retry-After reaches Reset, and a client that respects it is admitted', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 1, perDay: 100 });
    for (const wait of [0.25, 7.8, 0.001, 59.999]) {
      app.clock.advance({ seconds: wait });
      await app.get('/v1/pets', { key });
      const rejected = await app.get('/v1/pets', { key });
      const retryAfter = Number(rejected.headers['retry-after']);
      expect(Math.floor(app.clock.now() / 1_000) + retryAfter).toBeGreaterThanOrEqual(shown(rejected)[2]!);
      app.clock.advance({ seconds: retryAfter });
      expect((await app.get('/v1/pets', { key })).status).toBe(200);
      app.clock.advance({ seconds: 60 });
    }
  });

  it('admits exactly the limit of concurrent requests, each with another Remaining, over all routes, in a UTC day', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 100, perDay: BUDGET });
    const paths = ['/v1/pets', '/v1/store/orders', '/v1/nothing'];
    const responses = await Promise.all(
      Array.from({ length: 3 * BUDGET }, (_, at) => app.get(paths[at % 3]!, { key })),
    );
    const rejected = responses.filter(({ status }) => status === 429);
    const left = responses.filter(({ status }) => status !== 429).map((response) => shown(response)[1]!);
    expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: BUDGET }, (_, at) => BUDGET - 1 - at));
    for (const response of rejected) {
      expectError(response, 429, 'daily_quota_exceeded');
      expect(shown(response)).toEqual([BUDGET, 0, midnight]);
    }
    expect(rejected[0]!.headers['retry-after']).toBe(String(DAY / 2));
    app.clock.advance({ seconds: DAY / 2 });
    expect((await app.get('/v1/pets', { key })).status).toBe(200);
  });

  it('the headers show the exhausted window that resets last on 429, else the one with the fewest requests left', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 2, perDay: 2 });
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 1, midnight]);
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 0, midnight]);
    expectError(await app.get('/v1/pets', { key }), 429, 'daily_quota_exceeded');
    // In the last minute of the day.
    const late = await keyOn({ plan: 'enterprise', perMinute: 1, perDay: 1 });
    app.clock.advance({ seconds: 12 * 3_600 - 30 });
    await app.get('/v1/pets', { key: late });
    const rejected = await app.get('/v1/pets', { key: late });
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(shown(rejected)).toEqual([1, 0, midnight + 30]);
  });

  it('every request with a valid key is counted, 304 and 400 to 415 included; other paths and preflights are not', async () => {
    const { key } = app;
    const remaining = async (path: string, method = 'GET', body?: string) =>
      shown(await app.send(method, path, { key, ...(body && { body }) }))[1];
    expect(await remaining('/v1/pets')).toBe(999);
    const counted: [string, string?, string?][] = [
      ['/v1/pets?limit=0'],
      ['/v1/pets/9'],
      ['/v1/nothing'],
      ['/v1/pets', 'DELETE'],
      ['/v1/%ff'],
      ['/v1/pets', 'POST', '{'],
    ];
    for (const [at, each] of counted.entries())
      expect([each, await remaining(...each)]).toEqual([each, 998 - at]);
    const unchanged = await app.get('/v1/pets', { key, headers: { 'if-none-match': '*' } });
    expect([unchanged.status, shown(unchanged)[1]]).toEqual([304, 992]);
    for (const path of ['/livez', '/nothing', '/docs', '/openapi.json']) await app.get(path, { key });
    expect(await remaining('/v1/pets')).toBe(991);
  });

  describe('of requests without a valid key', () => {
    const from = (address: string, options: object = {}) =>
      app.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': address }, ...options });

    // A new window for the address of the test itself.
    beforeEach(() => app.clock.advance({ seconds: 60 }));

    it('get 401 up to the limit of their address, then 429, and 401 again in the next minute', async () => {
      const end = app.clock.now() / 1_000 + 60;
      for (let at = 1; at <= BUDGET; at += 1) {
        const response = await from('192.0.2.1', at % 2 === 0 ? { key: 'nonsense' } : {});
        expectError(response, 401, at % 2 === 0 ? 'invalid_api_key' : 'missing_api_key');
        expect(shown(response)).toEqual([BUDGET, BUDGET - at, end]);
        expect(response.headers['ratelimit-policy']).toBe(`"minute";q=${BUDGET};w=60`);
      }
      const rejected = await from('192.0.2.1');
      expectError(rejected, 429, 'rate_limit_exceeded');
      expect(shown(rejected)).toEqual([BUDGET, 0, end]);
      expect(rejected.headers['retry-after']).toBe('60');
      app.clock.advance({ seconds: 60 });
      expectError(await from('192.0.2.1'), 401, 'missing_api_key');
    });

    it('do not count for a valid key from the same address, and its requests do not count for the address', async () => {
      await Promise.all(Array.from({ length: BUDGET + 5 }, () => from('192.0.2.2')));
      const response = await from('192.0.2.2', { key: app.key });
      expect(response.status).toBe(200);
      expect(shown(response).slice(0, 2)).toEqual([1_000, 999]);
      expectError(await from('192.0.2.2'), 429, 'rate_limit_exceeded');
      await Promise.all(Array.from({ length: BUDGET + 5 }, () => from('192.0.2.3', { key: app.key })));
      expect(shown(await from('192.0.2.3'))[1]).toBe(BUDGET - 1);
    });

    it('count by IPv6 /64 and by IPv4 address in any notation, behind trusted proxies', async () => {
      const addresses: [address: string, nth: number][] = [
        ['2001:db8:0:1::1', 1],
        ['2001:db8:0:1:ffff::2', 2],
        ['2001:db8:0:2::1', 1],
        ['192.0.2.9', 1],
        ['::ffff:192.0.2.9', 2],
        ['192.0.2.9:4711', 3],
        ['[2001:db8:0:1::3]:443', 3],
        ['[2001:db8:0:1::4]', 4],
        ['192.0.2.10', 1],
        // Of a chain the last address that is not a trusted proxy counts, so clients cannot choose their address.
        ['198.51.100.1, 192.0.2.6', 1],
        ['198.51.100.2, 192.0.2.6, 10.1.2.3', 2],
        // An invalid address counts as the address of the socket.
        ['unknown', 1],
        ['x'.repeat(5_000), 2],
      ];
      for (const [address, nth] of addresses)
        expect([address, shown(await from(address))[1]]).toEqual([address, BUDGET - nth]);
      expect(shown(await app.get('/v1/pets', { key: undefined }))[1]).toBe(BUDGET - 3);
    });

    it('share their window with the headers of requests that are not charged', async () => {
      await from('192.0.2.5');
      await from('192.0.2.5');
      for (const path of ['/livez', '/docs', '/nothing', `/v1/pets?x=${'x'.repeat(9_000)}`]) {
        const response = await app.get(path, { key: undefined, headers: { 'x-forwarded-for': '192.0.2.5' } });
        expect(shown(response).slice(0, 2)).toEqual([BUDGET, BUDGET - 2]);
      }
      const broken = await sendRaw(app.url, 'broken\r\n\r\n');
      expect(broken).toMatch(
        new RegExp(
          `X-RateLimit-Limit: ${BUDGET}\r\nX-RateLimit-Remaining: ${BUDGET}\r\nX-RateLimit-Reset: \\d+\r\n`,
        ),
      );
      // A text that is not an address has the window of the socket.
      await from('unknown');
      const response = await app.get('/livez', { key: undefined, headers: { 'x-forwarded-for': 'unknown' } });
      expect(shown(response).slice(0, 2)).toEqual([BUDGET, BUDGET - 1]);
    });
  });
});
