import { codesOf } from '../../src/platform/openapi/codes';
import { startApp, type TestApp } from '../support/app';
import { rejectedByParser, rejections } from '../support/rejections';
import { connectAdmin } from '../support/database';
import type { HttpResponse } from '../support/http';
import { send, sendRaw } from '../support/http';

/** Codes without a row: another spec causes the first, no operation uses the others yet. */
const NOT_HERE = ['idempotency_key_in_use', 'precondition_failed'];
/** 500 and 503 come last: their tests break the service. */
const LAST = ['internal_error', 'service_unavailable'];

/** Each code of the service has one row. */
describe('the rate-limit headers', () => {
  const ORIGIN = 'https://shop.example';
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({
      corsOrigins: [ORIGIN],
      rateLimitBanAfter: 2,
      requestTimeoutMs: 300,
      headersTimeoutMs: 200,
    });
  });
  afterAll(() => app.close());

  const preflight = { origin: ORIGIN, 'access-control-request-method': 'POST' };

  const responses: (readonly [status: number, code: string, ask: () => Promise<HttpResponse>])[] = [
    [200, 'list', () => app.get('/v1/pets')],
    [200, 'orders', () => app.get('/v1/store/orders')],
    [200, 'health', () => app.get('/livez', { key: undefined })],
    [201, 'created', () => app.post('/v1/pets', { name: 'Rex', categoryId: 1 })],
    [204, 'preflight', () => send(app.url, 'OPTIONS', '/v1/pets', { headers: preflight })],
    [200, 'front page', () => app.get('/', { key: undefined })],
    ...rejections.map(([status, code, ask]) => [status, code, () => ask(app)] as const),
  ];

  const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

  function expectHeaders({ headers }: Pick<HttpResponse, 'headers'>): void {
    for (const name of HEADERS)
      expect({ name, value: headers[name] }).toEqual({ name, value: expect.stringMatching(/^\d+$/) });
    expect(headers['ratelimit-policy']).toMatch(/^"minute";q=\d+;w=60/);
    expect(headers['ratelimit']).toMatch(/^"minute";r=\d+;t=\d+/);
  }

  it('have a row for every code of the service', async () => {
    const document = await app.get('/openapi.json', { key: undefined });
    const seen = [...responses, ...rejectedByParser]
      .filter(([status]) => status >= 400)
      .map(([, code]) => code);
    expect(new Set([...seen, ...LAST, ...NOT_HERE])).toEqual(
      new Set(codesOf(document.json.paths).map(({ code }) => code)),
    );
  });

  it.each(responses)('are integers on %i %s', async (status, code, ask) => {
    const response = await ask();
    expect(response.status).toBe(status);
    expect(status < 400 || response.json.code === code).toBe(true);
    expectHeaders(response);
  });

  it.each(rejectedByParser)('are on %i %s of the HTTP parser', async (status, code, bytes) => {
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

  it('show the window of the socket if X-Forwarded-For does not come from a trusted proxy', async () => {
    const remaining = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      const response = await app.get('/v1/pets', { key: undefined, headers });
      return Number(response.headers['x-ratelimit-remaining']);
    };
    const left = await remaining('192.0.2.1');
    expect(await remaining('192.0.2.2')).toBe(left - 1);
  });
});
