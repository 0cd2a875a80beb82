import { startApp, type TestApp } from '../support/app';
import { send, sendRaw } from '../support/http';

const ORIGIN = 'https://shop.example';
const asked = {
  origin: ORIGIN,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization, content-type',
};

describe('headers of every response', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

  it.each([
    ['200', 'GET', '/v1/pets', undefined],
    ['201', 'POST', '/v1/pets', '{"name":"Rex","categoryId":1}'],
    ['400', 'POST', '/v1/pets', '{'],
    ['404', 'GET', '/v1/nothing', undefined],
    ['200', 'GET', '/livez', undefined],
    ['200', 'GET', '/', undefined],
    ['404', 'GET', '/nothing', undefined],
    ['200', 'GET', '/docs', undefined],
  ])('%s of %s %s', async (status, method, path, body) => {
    const { status: actual, headers } = await app.send(method, path, { body });
    expect(actual).toBe(Number(status));
    expect(headers['x-request-id']).toMatch(UUID);
    // A 200 of the API has an entity tag.
    const control = status === '200' ? 'private, no-cache' : 'no-store';
    const cached = path.startsWith('/v1') ? { 'cache-control': control } : {};
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', ...cached });
    expect(headers['server']).toBeUndefined();
    expect(headers['x-powered-by']).toBeUndefined();
  });

  it.each(['a', 'my-id.1_2', 'A'.repeat(128)])('returns X-Request-Id %.20s of the client', async (id) => {
    const { headers } = await app.get('/v1/pets', { headers: { 'x-request-id': id } });
    expect(headers['x-request-id']).toBe(id);
  });

  it.each(['', 'a b', 'a"b', 'a/b', 'ä', 'A'.repeat(129)])(
    'replaces X-Request-Id %.20j by a new id',
    async (id) => {
      const { headers } = await app.get('/v1/pets', {
        headers: { 'x-request-id': Buffer.from(id).toString('latin1') },
      });
      expect(headers['x-request-id']).toMatch(UUID);
    },
  );

  it('replaces two X-Request-Id by a new id', async () => {
    const response = await sendRaw(
      app.url,
      'GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nConnection: close\r\n\r\n',
    );
    expect(/x-request-id: (.*)\r\n/.exec(response)?.[1]).toMatch(UUID);
  });

  it('CORS is off by default: 401 for a preflight, 405 with a key, and no origin is allowed', async () => {
    expect((await send(app.url, 'OPTIONS', '/v1/pets', { headers: asked })).status).toBe(401);
    const { status, headers } = await app.send('OPTIONS', '/v1/pets', { headers: asked });
    expect(status).toBe(405);
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('CORS with allowed origins', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp(
      { corsOrigins: [ORIGIN, 'http://localhost:5173'] },
      {
        beforeListen: (nest) => {
          const fastify = nest.getHttpAdapter().getInstance();
          fastify.put('/of-a-module', { config: { public: true } }, () => '');
        },
      },
    );
  });
  afterAll(() => app.close());

  it('204 for a preflight, without a key', async () => {
    const { status, text, headers } = await send(app.url, 'OPTIONS', '/v1/pets', { headers: asked });
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect(headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(headers['access-control-allow-methods']).toBe('DELETE, GET, HEAD, PATCH, POST, PUT');
    expect(headers['access-control-allow-headers']).toBe('authorization, content-type');
    expect(headers['x-request-id']).toBeDefined();
  });

  it.each([
    [200, true, '/v1/pets'],
    [401, false, '/v1/pets'],
    [404, true, '/v1/nothing'],
  ])('allows the origin, and exposes the promised headers, on %i', async (status, hasKey, path) => {
    const response = await app.get(path, {
      headers: { origin: ORIGIN },
      ...(hasKey ? {} : { key: undefined }),
    });
    expect(response.status).toBe(status);
    expect(response.headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(response.headers['vary']).toContain('Origin');
    const exposed = String(response.headers['access-control-expose-headers']).toLowerCase().split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining([
        'link',
        'location',
        'retry-after',
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'x-request-id',
        'www-authenticate',
        'deprecation',
        'sunset',
        'idempotent-replayed',
        'ratelimit',
        'ratelimit-policy',
        'allow',
      ]),
    );
  });

  it.each(['https://evil.example', 'https://shop.example.evil.example', 'null', ''])(
    'allows no other origin: %j',
    async (origin) => {
      const preflight = await send(app.url, 'OPTIONS', '/v1/pets', { headers: { ...asked, origin } });
      expect(preflight.status).toBe(401);
      expect(preflight.headers['access-control-allow-origin']).toBeUndefined();
      expect(
        (await app.get('/v1/pets', { headers: { origin } })).headers['access-control-allow-origin'],
      ).toBeUndefined();
    },
  );

  it('OPTIONS without a preflight is a method like any other: 401, then 405 or 404', async () => {
    expect((await send(app.url, 'OPTIONS', '/v1/pets', { headers: { origin: ORIGIN } })).status).toBe(401);
    expect((await app.send('OPTIONS', '/v1/pets', { headers: { origin: ORIGIN } })).status).toBe(405);
    expect((await app.send('OPTIONS', '/v1/nothing')).status).toBe(404);
    expect((await app.send('OPTIONS', '/nothing')).status).toBe(404);
  });
});
