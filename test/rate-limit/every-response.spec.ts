import { AccountsService } from '../../src/accounts';
import { codesOf } from '../../src/platform/openapi/codes';
import type { TestApp } from '../support/app';
import { modules } from '../support/module-operations';
import { describeOverStores } from '../support/stores';
import { connectAdmin } from '../support/database';
import type { HttpResponse } from '../support/http';
import { send, sendRaw } from '../support/http';

/** Codes without a row: another spec causes the first, no operation uses the others yet. */
const NOT_HERE = ['idempotency_key_in_use', 'precondition_failed'];
/** 500 and 503 come last: their tests break the service. */
const LAST = ['internal_error', 'service_unavailable'];

/** The rows that run with Redis, too. Every spec compares each response with openapi.json, which covers the rest. */
const WITH_EACH_STORE = new Set([
  'list',
  'health',
  'preflight',
  'front page',
  'missing_api_key',
  'route_not_found',
  'method_not_allowed',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'api_key_banned',
]);

/** Each code of the service has one row. */
describeOverStores('the rate-limit headers', (start, isFirst) => {
  const ORIGIN = 'https://shop.example';
  let app: TestApp;
  let enterprise: { key: string };
  beforeAll(async () => {
    app = await start({
      corsOrigins: [ORIGIN],
      rateLimitBanAfter: 2,
      requestTimeoutMs: 300,
      headersTimeoutMs: 200,
    });
    enterprise = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
  });
  afterAll(() => app.close());

  const key = async (request: Parameters<TestApp['createKey']>[0]) => (await app.createKey(request)).key;
  const expired = () => key({ expiresAt: new Date(app.clock.now()) });
  async function revoked(): Promise<string> {
    const made = await app.createKey();
    await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [made.id]);
    return made.key;
  }
  async function banned(): Promise<HttpResponse> {
    const options = { key: await key({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } }) };
    for (let at = 0; at < 5; at += 1) {
      await app.get('/v1/pets', options);
      app.clock.advance({ seconds: 2 });
    }
    return app.get('/v1/pets', options);
  }
  async function daily(): Promise<HttpResponse> {
    const options = { key: await key({ choice: { plan: 'enterprise', perMinute: 9, perDay: 1 } }) };
    await app.get('/v1/pets', options);
    return app.get('/v1/pets', options);
  }
  const rex = { name: 'Rex', categoryId: 1 };
  const keyed = (body: string | object) =>
    app.post('/v1/pets', body, { headers: { 'idempotency-key': 'once' } });
  const preflight = { origin: ORIGIN, 'access-control-request-method': 'POST' };

  const responses: (readonly [status: number, code: string, ask: () => Promise<HttpResponse>])[] = [
    [200, 'list', () => app.get('/v1/pets')],
    [200, 'orders', () => app.get('/v1/store/orders')],
    [200, 'health', () => app.get('/livez', { key: undefined })],
    [201, 'created', () => app.post('/v1/pets', { name: 'Rex', categoryId: 1 })],
    [204, 'preflight', () => send(app.url, 'OPTIONS', '/v1/pets', { headers: preflight })],
    [200, 'front page', () => app.get('/', { key: undefined })],
    [400, 'malformed_request', () => app.get('/v1/%ff')],
    [400, 'malformed_json', () => app.post('/v1/pets', '{')],
    [400, 'validation_failed', () => app.post('/v1/pets', {})],
    [400, 'invalid_cursor', () => app.get('/v1/pets?cursor=x')],
    [401, 'missing_api_key', () => app.get('/v1/pets', { key: undefined })],
    [401, 'invalid_api_key', () => app.get('/v1/pets', { key: 'x' })],
    [401, 'expired_api_key', async () => app.get('/v1/pets', { key: await expired() })],
    [401, 'revoked_api_key', async () => app.get('/v1/pets', { key: await revoked() })],
    [
      403,
      'insufficient_scope',
      async () => app.get('/v1/pets', { key: await key({ scopes: ['orders:read'] }) }),
    ],
    [404, 'route_not_found', () => app.get('/v1/nothing')],
    [404, 'route_not_found', () => app.get('/nothing', { key: undefined })],
    [405, 'method_not_allowed', () => app.send('DELETE', '/v1/pets')],
    [413, 'payload_too_large', () => app.post('/v1/pets', 'x'.repeat(70_000))],
    [414, 'uri_too_long', () => app.get(`/v1/pets?x=${'x'.repeat(9_000)}`)],
    [
      415,
      'unsupported_media_type',
      () => app.post('/v1/pets', 'x', { headers: { 'content-type': 'text/plain' } }),
    ],
    [417, 'expectation_failed', () => app.get('/v1/pets', { headers: { expect: 'x' } })],
    [422, 'idempotency_key_reused', async () => (await keyed(rex)) && keyed({ ...rex, name: 'Max' })],
    [
      429,
      'rate_limit_exceeded',
      async () => (await app.get('/v1/pets', enterprise)) && app.get('/v1/pets', enterprise),
    ],
    [429, 'daily_quota_exceeded', daily],
    [429, 'api_key_banned', banned],
    ...modules
      .flatMap(({ rejections }) => rejections)
      .map(([status, code, ask]) => [status, code, () => ask(app)] as const),
  ];

  const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

  function expectHeaders({ headers }: Pick<HttpResponse, 'headers'>): void {
    for (const name of HEADERS)
      expect({ name, value: headers[name] }).toEqual({ name, value: expect.stringMatching(/^\d+$/) });
    expect(headers['ratelimit-policy']).toMatch(/^"minute";q=\d+;w=60/);
    expect(headers['ratelimit']).toMatch(/^"minute";r=\d+;t=\d+/);
  }

  const rejectedByParser: [status: number, code: string, bytes: string][] = [
    [400, 'malformed_request', 'broken\r\n\r\n'],
    [431, 'headers_too_large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    [408, 'request_timeout', 'GET / HTTP/1.1\r\n'],
  ];
  // The headers depend on the store, not on the code: with Redis one row for each place that adds them is enough.
  const rows = isFirst ? responses : responses.filter(([, code]) => WITH_EACH_STORE.has(code));
  const parserRows = isFirst ? rejectedByParser : rejectedByParser.slice(0, 1);

  if (isFirst) {
    it('have a row for every code of the service', async () => {
      const document = await app.get('/openapi.json', { key: undefined });
      const seen = [...responses, ...rejectedByParser]
        .filter(([status]) => status >= 400)
        .map(([, code]) => code);
      expect(new Set([...seen, ...LAST, ...NOT_HERE])).toEqual(
        new Set(codesOf(document.json.paths).map(({ code }) => code)),
      );
    });
  }

  it.each(rows)('are integers on %i %s', async (status, code, ask) => {
    const response = await ask();
    expect(response.status).toBe(status);
    expect(status < 400 || response.json.code === code).toBe(true);
    expectHeaders(response);
  });

  it.each(parserRows)('are on %i %s of the HTTP parser', async (status, code, bytes) => {
    const response = await sendRaw(app.url, bytes);
    expect(response.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(response).toContain(`"code":"${code}"`);
    const headers = Object.fromEntries(
      [...response.split('\r\n\r\n')[0]!.matchAll(/^([\w-]+): (.*)$/gm)].map(([, name, value]) => [
        name!.toLowerCase(),
        value!.trim(),
      ]),
    );
    expectHeaders({ headers });
  });

  it('are on 500 internal_error', async () => {
    await app.database.query('ALTER TABLE pets RENAME TO lost');
    const response = await app.get('/v1/pets');
    await app.database.query('ALTER TABLE lost RENAME TO pets');
    expect(response).toMatchObject({ status: 500, json: { code: 'internal_error' } });
    expect(response.text).not.toContain('pets');
    expectHeaders(response);
  });

  it('are on 503 service_unavailable, with a known and with an unknown key', async () => {
    const name = new URL(app.database.url).pathname.slice(1);
    const admin = await connectAdmin();
    await app.get('/v1/pets');
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    const known = await app.get('/v1/pets');
    app.clock.advance({ seconds: 5 });
    const unknown = await app.get('/v1/pets');
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await admin.end();
    for (const response of [known, unknown]) {
      expect(response).toMatchObject({ status: 503, json: { code: 'service_unavailable' } });
      expectHeaders(response);
    }
  });
});

describeOverStores('a change of plan', (start) => {
  it('takes effect within 5 s, keeps the counted requests, and never makes Remaining negative', async () => {
    const app = await start();
    const custom = { perMinute: null, perDay: null };
    const { key } = await app.createKey({ account: 'moving', choice: { plan: 'pro', ...custom } });
    const shown = async () => {
      const { headers } = await app.get('/v1/pets', { key });
      return [Number(headers['x-ratelimit-limit']), Number(headers['x-ratelimit-remaining'])];
    };
    for (let at = 0; at < 80; at += 1) await shown();
    const accounts = app.nest.get(AccountsService, { strict: false });
    await accounts.setPlan('moving', { plan: 'free', ...custom });
    app.clock.advance({ seconds: 5 });
    expect(await shown()).toEqual([60, 0]);
    await accounts.setPlan('moving', { plan: 'business', ...custom });
    app.clock.advance({ seconds: 5 });
    expect(await shown()).toEqual([1_000, 919]);
    await app.close();
  });
});
