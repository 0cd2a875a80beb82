import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const LIMITED = { plan: 'enterprise', perMinute: 3, perDay: 50 } as const;

describe('addresses of a key', () => {
  let app: TestApp;
  beforeAll(async () => (app = await startApp({ trustProxy: ['127.0.0.1/32'] })));
  afterAll(() => app.close());

  const from = (address: string) => ({ 'x-forwarded-for': address });
  const codeFrom = async (address: string, key: string, path = '/v1/pets') =>
    (await app.get(path, { key, headers: from(address) })).json.code;

  it.each([
    ['192.0.2.0/24', '192.0.2.9', true],
    ['192.0.2.0/24', '::ffff:192.0.2.9', true],
    ['192.0.2.0/24', '192.0.2.9:4711', true],
    ['192.0.2.0/24', '192.0.3.9', false],
    ['192.0.2.0/24', '::ffff:192.0.3.9', false],
    ['192.0.2.0/24', '2001:db8::1', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['192.0.2.99/24', '192.0.2.1', true],
    ['::ffff:192.0.2.0/120', '192.0.2.1', true],
    ['2001:DB8::/32', '2001:db8:1::1', true],
    ['2001:db8::/32', '[2001:db8:1::1]:443', true],
    ['2001:db8::/32', '2001:db9::1', false],
    // The address of the proxy is not that of a client.
    ['127.0.0.1', 'unknown', false],
    ['192.0.2.0/24', 'unknown', false],
    // The last address that is not of a trusted proxy counts.
    ['192.0.2.0/24', '192.0.2.9, 198.51.100.1', false],
    ['192.0.2.0/24', '198.51.100.1, 192.0.2.9', true],
  ])('%s and a client at %s: allowed %s', async (block, address, isAllowed) => {
    const { key } = await app.createKey({ addresses: ['10.0.0.1', block] });
    expect(await codeFrom(address, key)).toBe(isAllowed ? undefined : 'address_not_allowed');
  });

  it('reject a request to every path, getKey and /mcp included', async () => {
    const { key } = await app.createKey({ addresses: ['192.0.2.0/24'] });
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/key', '/v1/nothing', '/v1/accounts']) {
      const response = await app.get(path, { key, headers: from('198.51.100.1') });
      expectError(response, 403, 'address_not_allowed');
      expect(response.headers['www-authenticate']).toBe('Bearer realm="animal-store"');
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const options = { key, headers: { accept: 'application/json, text/event-stream' }, isDocumented: false };
    expectError(await app.post('/mcp', body, options), 403, 'address_not_allowed');
    // The call of a tool has the address of its agent.
    const called = { ...body, method: 'tools/call', params: { name: 'listPets', arguments: {} } };
    const headers = { ...options.headers, ...from('192.0.2.9') };
    expect((await app.post('/mcp', called, { ...options, headers })).json.result.isError).not.toBe(true);
  });

  it('a request from elsewhere counts for its address: the account keeps its requests and gets no strike', async () => {
    const { key } = await app.createKey({
      addresses: ['192.0.2.1'],
      choice: LIMITED,
      scopes: ['orders:read'],
    });
    const ask = (address: string) => app.get('/v1/pets', { key, headers: from(address) });
    const limits = [];
    for (let at = 0; at < 5; at += 1) {
      const { status, headers } = await ask('203.0.113.50');
      limits.push([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]);
    }
    expect(limits).toEqual([999, 998, 997, 996, 995].map((left) => [403, '1000', String(left)]));
    const own = await ask('192.0.2.1');
    expectError(own, 403, 'insufficient_scope');
    expect(own.headers['x-ratelimit-remaining']).toBe('2');
    const { json } = await app.get('/v1/key', { key, headers: from('192.0.2.1') });
    expect([json.limits.minute.remaining, json.strikes.count]).toEqual([2, 0]);
  });
});

it('without TRUST_PROXY X-Forwarded-For has no effect', async () => {
  const app = await startApp();
  const { key } = await app.createKey({ addresses: ['192.0.2.1'] });
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  expectError(await app.get('/v1/pets', { key, headers }), 403, 'address_not_allowed');
  await app.close();
});
