import { startApp, type TestApp } from '../support/app';
import { describeOverStores } from '../support/stores';
import { expectError } from '../support/expect-error';
import { send, sendRaw, type HttpResponse } from '../support/http';

const BUDGET = 20;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));

describeOverStores('requests without a valid key', (start) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ rateLimitAnonymousPerMinute: BUDGET, trustProxy: ['127.0.0.1', '10.0.0.0/8'] });
  });
  // A new window for the address of the test itself.
  beforeEach(() => app.clock.advance({ seconds: 60 }));
  afterAll(() => app.close());

  const from = (address: string, options: object = {}) =>
    app.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': address }, ...options });

  it('get 401 up to the limit of their address, then 429, and 401 again in the next minute', async () => {
    const end = app.clock.now() / 1_000 + 60;
    for (let at = 1; at <= BUDGET; at += 1) {
      const response = await from('192.0.2.1', at % 2 === 0 ? { key: 'nonsense' } : {});
      expectError(response, 401, at % 2 === 0 ? 'invalid_api_key' : 'missing_api_key');
      expect(shown(response)).toEqual([BUDGET, BUDGET - at, end]);
      expect(response.headers['ratelimit-policy']).toBe(`"minute";q=${BUDGET};w=60`);
    }
    const refused = await from('192.0.2.1');
    expectError(refused, 429, 'rate_limit_exceeded');
    expect(shown(refused)).toEqual([BUDGET, 0, end]);
    expect(refused.headers['retry-after']).toBe('60');
    app.clock.advance({ seconds: 60 });
    expectError(await from('192.0.2.1'), 401, 'missing_api_key');
  });

  it('do not count for a valid key from the same address, and its requests do not count for the address', async () => {
    await Promise.all(Array.from({ length: 5 * BUDGET }, () => from('192.0.2.2')));
    const response = await from('192.0.2.2', { key: app.key });
    expect(response.status).toBe(200);
    expect(shown(response).slice(0, 2)).toEqual([1_000, 999]);
    expectError(await from('192.0.2.2'), 429, 'rate_limit_exceeded');
    await Promise.all(Array.from({ length: 3 * BUDGET }, () => from('192.0.2.3', { key: app.key })));
    expect(shown(await from('192.0.2.3'))[1]).toBe(BUDGET - 1);
  });

  it('count by IPv6 /64 and by IPv4 address in any notation', async () => {
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
    // An invalid address counts as the address of the socket.
    expect(await remaining('unknown')).toBe(BUDGET - 1);
    expect(await remaining('x'.repeat(5_000))).toBe(BUDGET - 2);
    expect(shown(await app.get('/v1/pets', { key: undefined }))[1]).toBe(BUDGET - 3);
  });

  it('include requests with an expired or a revoked key', async () => {
    const expired = await app.createKey({ expiresAt: new Date(app.clock.now()) });
    const revoked = await app.createKey();
    await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [revoked.id]);
    const responses = [
      await from('192.0.2.4', { key: expired.key }),
      await from('192.0.2.4', { key: revoked.key }),
    ];
    expectError(responses[0]!, 401, 'expired_api_key');
    expectError(responses[1]!, 401, 'revoked_api_key');
    expect(responses.map((response) => shown(response)[1])).toEqual([BUDGET - 1, BUDGET - 2]);
  });

  it('count for the last address of a chain that is not a trusted proxy, so clients cannot choose their address', async () => {
    const remaining = async (chain: string) => shown(await from(chain))[1];
    expect(await remaining('198.51.100.1, 192.0.2.6')).toBe(BUDGET - 1);
    expect(await remaining('198.51.100.2, 192.0.2.6, 10.1.2.3')).toBe(BUDGET - 2);
    expect(await remaining('198.51.100.3, 192.0.2.6')).toBe(BUDGET - 3);
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

describe('X-Forwarded-For', () => {
  it('counts only from a trusted proxy', async () => {
    const app = await startApp({ rateLimitAnonymousPerMinute: 2 });
    const from = (address: string) =>
      send(app.url, 'GET', '/v1/pets', { headers: { 'x-forwarded-for': address } });
    expectError(await from('192.0.2.1'), 401, 'missing_api_key');
    expectError(await from('192.0.2.2'), 401, 'missing_api_key');
    expectError(await from('192.0.2.3'), 429, 'rate_limit_exceeded');
    await app.close();
  });
});
