import { entityTagOf } from '../../src/platform/entity-tags/entity-tag';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets } from '../support/factories';
import { send } from '../support/http';

const ORIGIN = 'https://shop.example';
const asked = {
  origin: ORIGIN,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization, content-type',
};

const PATHS = ['/v1/pets', '/v1/pets?limit=1', '/v1/pets/1', '/v1/store/orders', '/v1/store/orders/1'];

/** For most of this file; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});

describe('headers of every response', () => {
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
    const { headers } = await app.get('/livez', { headers: { 'x-request-id': ['a', 'b'] } });
    expect(headers['x-request-id']).toMatch(UUID);
  });

  it('CORS is off by default but for documents: 401 for a preflight, 405 with a key, and no origin is allowed', async () => {
    expect((await send(app.url, 'OPTIONS', '/v1/pets', { headers: asked })).status).toBe(401);
    const { status, headers } = await app.send('OPTIONS', '/v1/pets', { headers: asked });
    expect(status).toBe(405);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    const allowedAt = async (path: string) =>
      (await app.get(path, { headers: asked })).headers['access-control-allow-origin'];
    for (const path of ['/mcp', '/livez', '/v1/pets']) expect(await allowedAt(path)).toBeUndefined();
    expect(await allowedAt('/openapi.json')).toBe('*');
  });
});

describe('entity tags', () => {
  let key: string;
  beforeAll(async () => {
    key = await app.unlimitedKey();
    await fillPets(app, 3);
    await app.post('/v1/store/orders', { petId: 1 }, { key });
  });

  const get = (path: string, headers = {}, method = 'GET') => app.send(method, path, { key, headers });
  const tagOf = async (path: string) => String((await get(path)).headers['etag']);

  it.each(PATHS)(
    'a 200 of GET %s has a strong one, the hash of its bytes, and may be stored if revalidated',
    async (path) => {
      const response = await get(path);
      expect(response.headers['etag']).toBe(entityTagOf(response.text));
      expect(response.headers['etag']).toMatch(/^"[\w-]{43}"$/);
      expect(response.headers['cache-control']).toBe('private, no-cache');
      const head = await get(path, {}, 'HEAD');
      expect(head.headers['etag']).toBe(response.headers['etag']);
      expect(head.headers['content-length']).toBe(response.headers['content-length']);
    },
  );

  it.each(PATHS)('304 without a body for GET and HEAD of %s, with the headers of the 200', async (path) => {
    const { headers: full } = await get(path);
    const tag = String(full['etag']);
    for (const condition of [`"a", W/${tag} , "b"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await get(path, { 'if-none-match': condition }, method);
        expect(response).toMatchObject({ status: 304, text: '' });
        const { headers } = response;
        for (const name of ['etag', 'link', 'cache-control', 'deprecation', 'sunset', 'x-ratelimit-limit'])
          expect({ name, value: headers[name] }).toEqual({ name, value: full[name] });
      }
    }
  });

  it.each(['', 'W/"a", "b"'])('200 if If-None-Match does not name it (%s)', async (condition) => {
    for (const path of PATHS) {
      const response = await get(path, { 'if-none-match': condition });
      expect(response.status).toBe(200);
      expect(response.text).not.toBe('');
    }
  });

  it('a 304 counts in the windows like a 200', async () => {
    const { key: own } = await app.createKey();
    const first = await app.get('/v1/pets', { key: own });
    const headers = { 'if-none-match': String(first.headers['etag']) };
    const second = await app.get('/v1/pets', { key: own, headers });
    expect(second.status).toBe(304);
    const remaining = (response: typeof first) => Number(response.headers['x-ratelimit-remaining']);
    expect(remaining(second)).toBe(remaining(first) - 1);
  });

  it('one names the new state after each change', async () => {
    const created = await app.post('/v1/pets', aNewPet(), { key });
    expect(created.headers['cache-control']).toBe('no-store');
    const path = String(created.headers['location']);
    const before = await tagOf(path);
    expect(before).toBe(created.headers['etag']);
    const page = await tagOf('/v1/pets?limit=100');
    const changed = await app.send('PATCH', path, { key: app.key, body: { name: 'other' } });
    expect(changed.headers['etag']).toBe(await tagOf(path));
    expect(changed.headers['etag']).not.toBe(before);
    expect(await get('/v1/pets?limit=100', { 'if-none-match': page })).toMatchObject({ status: 200 });
  });

  it('errors have none, and no-store', async () => {
    for (const response of [
      await get('/v1/pets/4711', { 'if-none-match': '*' }),
      await app.get('/v1/pets', { key: undefined, headers: { 'if-none-match': '*' } }),
      await get('/v1/pets?limit=0', { 'if-none-match': '*' }),
    ]) {
      expect(response.status).toBeGreaterThan(399);
      expect(response.headers['etag']).toBeUndefined();
      expect(response.headers['cache-control']).toBe('no-store');
    }
  });

  it('200 for If-Match with the current one of an order; 412 for an earlier one unless the change is in force', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet(), { key })).json;
    const path = String((await app.post('/v1/store/orders', { petId }, { key })).headers['location']);
    const update = (status: string, tag: string) =>
      app.send('PATCH', path, { key, body: { status }, headers: { 'if-match': tag } });
    const placed = await tagOf(path);
    expect((await update('approved', placed)).status).toBe(200);
    // It is in force: the client may have lost the response (RFC 9110, 13.1.1).
    expect((await update('approved', placed)).status).toBe(200);
    expectError(await update('delivered', placed), 412, 'precondition_failed');
    expect((await update('delivered', await tagOf(path))).status).toBe(200);
  });
});

describe('CORS with allowed origins', () => {
  let shop: TestApp;
  beforeAll(async () => {
    shop = await startApp(
      { corsOrigins: [ORIGIN, 'http://localhost:5173'] },
      {
        beforeListen: (nest) => {
          const fastify = nest.getHttpAdapter().getInstance();
          fastify.put('/of-a-module', { config: { public: true } }, () => '');
        },
      },
    );
  });
  afterAll(() => shop.close());

  it('204 for a preflight, without a key', async () => {
    const { status, text, headers } = await send(shop.url, 'OPTIONS', '/v1/pets', { headers: asked });
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
    const response = await shop.get(path, {
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
        'etag',
      ]),
    );
  });

  it.each(['https://evil.example', 'https://shop.example.evil.example', 'null', ''])(
    'allows no other origin: %j',
    async (origin) => {
      const preflight = await send(shop.url, 'OPTIONS', '/v1/pets', { headers: { ...asked, origin } });
      expect(preflight.status).toBe(401);
      expect(preflight.headers['access-control-allow-origin']).toBeUndefined();
      expect(
        (await shop.get('/v1/pets', { headers: { origin } })).headers['access-control-allow-origin'],
      ).toBeUndefined();
    },
  );

  it('OPTIONS without a preflight is a method like any other: 401, then 405 or 404', async () => {
    expect((await send(shop.url, 'OPTIONS', '/v1/pets', { headers: { origin: ORIGIN } })).status).toBe(401);
    expect((await shop.send('OPTIONS', '/v1/pets', { headers: { origin: ORIGIN } })).status).toBe(405);
    expect((await shop.send('OPTIONS', '/v1/nothing')).status).toBe(404);
    expect((await shop.send('OPTIONS', '/nothing')).status).toBe(404);
  });
});
