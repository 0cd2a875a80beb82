import { createHash } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { fillPets } from '../support/factories';
import { type HttpResponse, type RequestOptions, send } from '../support/http';

const ORIGIN = 'https://shop.example';
const asked = {
  origin: ORIGIN,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization, content-type',
};
const NEW_ID = expect.stringMatching(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/);

/** For most of this file; test/support/app closes it. */
let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  key = await app.unlimitedKey();
  await fillPets(app, 3);
  await app.post('/v1/store/orders', { petId: 1 }, { key });
});

const get = (path: string, headers = {}, method = 'GET') => app.send(method, path, { key, headers });
const tagOf = async (path: string) => String((await get(path)).headers['etag']);
const hashOf = (text: string) => `"${createHash('sha256').update(text).digest('base64url')}"`;

/** Kinds of responses: Cache-Control, Content-Type, and true with an entity tag. */
const JSON_TYPE = 'application/json; charset=utf-8';
const READ = ['private, no-cache', JSON_TYPE, true] as const;
const WRITE = ['no-store', JSON_TYPE, true] as const;
const ERROR = ['no-store', JSON_TYPE, false] as const;
const page = (type: string) => ['no-cache', type, true] as const;

describe('the headers of a response', () => {
  it.each([
    ['GET', '/v1/pets', 200, READ],
    ['GET', '/v1/pets?limit=1', 200, READ],
    ['GET', '/v1/pets/1', 200, READ],
    ['GET', '/v1/store/orders', 200, READ],
    ['GET', '/v1/store/orders/1', 200, READ],
    ['POST', '/v1/pets', 201, WRITE, { body: { name: 'Rex', categoryId: 1 } }],
    ['POST', '/v1/pets', 400, ERROR, { body: '{' }],
    ['GET', '/v1/pets', 401, ERROR, { key: undefined }],
    ['GET', '/v1/pets?limit=0', 400, ERROR],
    ['GET', '/v1/pets/4711', 404, ERROR],
    ['GET', '/v1/nothing', 404, ERROR],
    ['GET', '/nothing', 404, ERROR],
    ['GET', '/livez', 200, ERROR],
    ['GET', '/', 200, page('text/html; charset=utf-8')],
    ['GET', '/docs', 200, page('text/html; charset=utf-8')],
    ['GET', '/docs/swagger-ui.css', 200, page('text/css; charset=utf-8')],
    ['GET', '/docs/swagger-ui-bundle.js', 200, page('text/javascript; charset=utf-8')],
    ['GET', '/guide', 200, page('text/html; charset=utf-8')],
    ['GET', '/llms.txt', 200, page('text/markdown; charset=utf-8')],
    ['GET', '/favicon.ico', 200, page('image/svg+xml')],
    ['GET', '/openapi.json', 200, page(JSON_TYPE)],
    ['GET', '/openapi.yaml', 200, page('application/yaml; charset=utf-8')],
  ] as [string, string, number, typeof READ, RequestOptions?][])(
    '%s %s %i: id, caching, type and entity tag',
    async (...[method, path, status, kind, options]) => {
      const [control, type, hasTag] = kind;
      const request = (verb: string, headers = {}) => app.send(verb, path, { key, headers, ...options });
      const expectHeaders = ({ headers }: HttpResponse) => {
        expect(headers).toMatchObject({ 'x-request-id': NEW_ID, 'x-content-type-options': 'nosniff' });
        expect([
          headers['cache-control'],
          headers['content-type'],
          headers['etag'] !== undefined,
          headers['server'] ?? headers['x-powered-by'],
        ]).toEqual([control, type, hasTag, undefined]);
      };
      const full = await request(method);
      expect(full.status).toBe(status);
      expectHeaders(full);
      expect(full.headers['etag']).toBe(hasTag ? hashOf(full.text) : undefined);
      if (method !== 'GET') return;
      const head = await request('HEAD');
      expect(head).toMatchObject({ status, text: '' });
      expectHeaders(head);
      for (const name of ['etag', 'content-length', 'content-security-policy'])
        expect(head.headers[name]).toBe(full.headers[name]);
      for (const verb of ['GET', 'HEAD']) {
        const conditional = await request(verb, { 'if-none-match': '*' });
        expect(conditional.status).toBe(hasTag ? 304 : status);
        if (!hasTag) continue;
        expect(conditional.text).toBe('');
        for (const name of [
          'etag',
          'link',
          'cache-control',
          'vary',
          'deprecation',
          'sunset',
          'x-ratelimit-limit',
        ])
          expect({ name, value: conditional.headers[name] }).toEqual({ name, value: full.headers[name] });
      }
    },
  );

  it.each([
    ['a', true],
    ['my-id.1_2', true],
    ['A'.repeat(128), true],
    ...['', 'a b', 'a"b', 'a/b', 'ä', 'A'.repeat(129)].map((id) => [id, false] as const),
    [['a', 'b'], false],
  ] as [string | string[], boolean][])('X-Request-Id %j of the client is kept: %j', async (id, isKept) => {
    const value = Array.isArray(id) ? id : Buffer.from(id).toString('latin1');
    const { headers } = await app.get('/v1/pets', { headers: { 'x-request-id': value } });
    expect(headers['x-request-id']).toEqual(isKept ? id : NEW_ID);
  });
});

describe('entity tags', () => {
  // test/pets/change-pets.spec.ts has the strong comparisons of If-Match. <tag> is the current one without its last quote.
  it.each([
    ['<tag>"', 304],
    ['W/<tag>"', 304],
    ['"other", W/<tag>" , "more"', 304],
    [',,<tag>" ,', 304],
    ['"other" ,\t<tag>"', 304],
    // Compressing proxies add the coding.
    ['W/<tag>-gzip"', 304],
    ['<tag>-xz"', 200],
    ['W/"other", "more"', 200],
    ['', 200],
  ])('If-None-Match is a list of weak comparisons: %s is %i', async (condition, status) => {
    const own = (await tagOf('/v1/pets/2')).slice(0, -1);
    const read = await get('/v1/pets/2', { 'if-none-match': condition.replace('<tag>', own) });
    expect(read.status).toBe(status);
  });
});

describe('CORS', () => {
  let shop: TestApp;
  beforeAll(async () => {
    shop = await startApp(
      { corsOrigins: [ORIGIN, 'http://localhost:5173'] },
      {
        beforeListen: (nest) =>
          nest
            .getHttpAdapter()
            .getInstance()
            .put('/of-a-module', { config: { public: true } }, () => ''),
      },
    );
  });

  const EVIL = ['https://evil.example', 'https://shop.example.evil.example', 'null', ''];

  const EXPOSED = [
    'link location retry-after x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-request-id',
    'www-authenticate deprecation sunset idempotent-replayed ratelimit ratelimit-policy allow etag',
  ].flatMap((line) => line.split(' '));

  it.each([
    ['is off by default: a preflight is 401', false, 'OPTIONS', '/v1/pets', false, 401, ORIGIN],
    ['is off by default: OPTIONS with a key is 405', false, 'OPTIONS', '/v1/pets', true, 405, ORIGIN],
    ['is off by default', false, 'GET', '/v1/pets', true, 200, ORIGIN],
    ['is off by default', false, 'GET', '/mcp', true, 405, ORIGIN],
    ['is off by default', false, 'GET', '/livez', true, 200, ORIGIN],
    ['lets an origin read all promised headers', true, 'GET', '/v1/pets', true, 200, ORIGIN, ORIGIN],
    ['lets an origin read all promised headers', true, 'GET', '/v1/pets', false, 401, ORIGIN, ORIGIN],
    ['lets an origin read all promised headers', true, 'GET', '/v1/nothing', true, 404, ORIGIN, ORIGIN],
    ...EVIL.flatMap((origin) => [
      [`rejects the preflight of ${origin || 'no origin'}`, true, 'OPTIONS', '/v1/pets', false, 401, origin],
      [`does not let ${origin || 'no origin'} read`, true, 'GET', '/v1/pets', true, 200, origin],
    ]),
  ] as [string, boolean, string, string, boolean, number, string, string?][])(
    '%s (on: %s): %s %s',
    async (...[, isOn, method, path, hasKey, status, origin, allowed]) => {
      const service = isOn ? shop : app;
      const headers = method === 'OPTIONS' ? { ...asked, origin } : { origin };
      const response = await service.send(method, path, {
        headers,
        isDocumented: path !== '/mcp',
        ...(hasKey ? {} : { key: undefined }),
      });
      expect(response.status).toBe(status);
      expect(response.headers['access-control-allow-origin']).toBe(allowed);
      if (!allowed) return;
      expect(response.headers['vary']).toContain('Origin');
      const exposed = String(response.headers['access-control-expose-headers']).toLowerCase().split(', ');
      expect(exposed).toEqual(expect.arrayContaining(EXPOSED));
    },
  );

  it('204 for a preflight, without a key', async () => {
    const { status, text, headers } = await send(shop.url, 'OPTIONS', '/v1/pets', { headers: asked });
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect(headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'DELETE, GET, HEAD, PATCH, POST, PUT',
      'access-control-allow-headers': 'authorization, content-type',
      'x-request-id': expect.any(String),
    });
  });

  it('OPTIONS without a preflight is a method like any other: 401, then 405 or 404', async () => {
    const headers = { origin: ORIGIN };
    expect((await send(shop.url, 'OPTIONS', '/v1/pets', { headers })).status).toBe(401);
    expect((await shop.send('OPTIONS', '/v1/pets', { headers })).status).toBe(405);
    for (const path of ['/v1/nothing', '/nothing'])
      expect((await shop.send('OPTIONS', path)).status).toBe(404);
  });
});
