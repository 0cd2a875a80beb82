import type { PlanChoice } from '../../src/accounts';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { type HttpResponse, sendRaw } from '../support/http';

const DAY = 86_400;
const BUDGET = 20;
const custom = { perMinute: null, perDay: null };
const ACCOUNT_OF = 'SELECT account_id AS account FROM api_keys WHERE id = $1';
const FREE: PlanChoice = { plan: 'free', ...custom };
const PLANS: [PlanChoice, number, number][] = [
  [FREE, 60, 1_000],
  [{ plan: 'pro', ...custom }, 300, 10_000],
  [{ plan: 'business', ...custom }, 1_000, 100_000],
  [{ plan: 'enterprise', perMinute: 7, perDay: 20 }, 7, 20],
];

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
  afterAll(() => app.close());

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

  it.each(PLANS)('%j admits exactly its limit in a UTC day', async (choice, perMinute, perDay) => {
    const { id, key } = await app.createKey({ choice });
    const [row] = await app.database.query<{ account: string }>(ACCOUNT_OF, [id]);
    const day = { used: perDay - 3, endsAt: midnight * 1_000 };
    const counters = { owner: `account:${row!.account}`, minute: { used: 0, endsAt: 0 }, day };
    app.nest.get(RateLimitStore, { strict: false }).load([counters]);
    const ask = () => app.get('/v1/pets', { key });
    const first = await ask();
    expect(shown(first)[1]).toBe(2);
    expect(first.headers['ratelimit']).toBe(`"minute";r=${perMinute - 1};t=60, "day";r=2;t=43200`);
    expect(first.headers['ratelimit-policy']).toBe(`"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`);
    expect((await ask()).status).toBe(200);
    expect(shown(await ask())).toEqual([perDay, 0, midnight]);
    const rejected = await ask();
    expectError(rejected, 429, 'daily_quota_exceeded');
    expect(shown(rejected)).toEqual([perDay, 0, midnight]);
    expect(Number(rejected.headers['retry-after'])).toBe(DAY / 2);
    app.clock.advance({ seconds: DAY / 2 });
    expect((await ask()).status).toBe(200);
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

  it('every request with a valid key is counted, 400 to 415 included; other paths and preflights are not', async () => {
    const { key } = app;
    const remaining = async (response: Promise<HttpResponse>) => shown(await response)[1];
    expect(await remaining(app.get('/v1/pets', { key }))).toBe(999);
    expect(await remaining(app.get('/v1/pets?limit=0', { key }))).toBe(998);
    expect(await remaining(app.get('/v1/pets/9', { key }))).toBe(997);
    expect(await remaining(app.get('/v1/nothing', { key }))).toBe(996);
    expect(await remaining(app.send('DELETE', '/v1/pets', { key }))).toBe(995);
    expect(await remaining(app.get('/v1/%ff', { key }))).toBe(994);
    expect(await remaining(app.post('/v1/pets', '{', { key }))).toBe(993);
    for (const path of ['/livez', '/nothing', '/docs', '/openapi.json']) await app.get(path, { key });
    expect(await remaining(app.get('/v1/pets', { key }))).toBe(992);
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
      const remaining = async (address: string) => shown(await from(address))[1];
      expect(await remaining('2001:db8:0:1::1')).toBe(BUDGET - 1);
      expect(await remaining('2001:db8:0:1:ffff::2')).toBe(BUDGET - 2);
      expect(await remaining('2001:db8:0:2::1')).toBe(BUDGET - 1);
      expect(await remaining('192.0.2.9')).toBe(BUDGET - 1);
      expect(await remaining('::ffff:192.0.2.9')).toBe(BUDGET - 2);
      expect(await remaining('192.0.2.9:4711')).toBe(BUDGET - 3);
      expect(await remaining('[2001:db8:0:1::3]:443')).toBe(BUDGET - 3);
      expect(await remaining('[2001:db8:0:1::4]')).toBe(BUDGET - 4);
      expect(await remaining('192.0.2.10')).toBe(BUDGET - 1);
      // Of a chain the last address that is not a trusted proxy counts, so clients cannot choose their address.
      expect(await remaining('198.51.100.1, 192.0.2.6')).toBe(BUDGET - 1);
      expect(await remaining('198.51.100.2, 192.0.2.6, 10.1.2.3')).toBe(BUDGET - 2);
      expect(await remaining('198.51.100.3, 192.0.2.6')).toBe(BUDGET - 3);
      // An invalid address counts as the address of the socket.
      expect(await remaining('unknown')).toBe(BUDGET - 1);
      expect(await remaining('x'.repeat(5_000))).toBe(BUDGET - 2);
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
