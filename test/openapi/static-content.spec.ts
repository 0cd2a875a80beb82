import { startApp, type TestApp } from '../support/app';

const DOCUMENT = '/openapi.json';
const SHOP = 'https://shop.example';
const OPEN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };
const CODINGS = ['identity', 'gzip'] as const;

describe('static content', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ corsOrigins: [SHOP] });
  });
  afterAll(() => app.close());

  const sent = (
    path: string,
    coding: string | undefined,
    more: Record<string, string> = {},
    method = 'GET',
  ) =>
    app.send(method, path, {
      key: undefined,
      headers: { ...(coding !== undefined && { 'accept-encoding': coding }), ...more },
    });

  it.each([
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['*', 'gzip'],
    ['GZIP;q=0.1', 'gzip'],
    [undefined, undefined],
    ['', undefined],
    ['br', undefined],
    ['gzip;q=0', undefined],
    ['identity;q=0', undefined],
    [`gzip${', x'.repeat(500)}`, undefined],
  ])('Accept-Encoding %j gets the coding %j', async (accepted, coding) => {
    const { status, headers } = await sent(DOCUMENT, accepted);
    expect([status, headers['content-encoding']]).toEqual([200, coding]);
    expect(headers['vary']).toBe('Accept-Encoding');
  });

  it('is the same in each coding, and each has a strong ETag of its own', async () => {
    const plain = await sent(DOCUMENT, 'identity');
    // It accepts gzip, and decodes the body.
    const zipped = await fetch(`${app.url}${DOCUMENT}`);
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(await zipped.text()).toBe(plain.text);
    const tags = [zipped.headers.get('etag')!, String(plain.headers['etag'])];
    for (const tag of tags) expect(tag).toMatch(/^"[^"]+"$/);
    expect((await sent(DOCUMENT, 'identity', { 'if-none-match': tags[0]! })).status).toBe(200);
    expect(tags[0]).not.toBe(tags[1]);
  });

  it.each([
    '/',
    '/docs',
    '/docs/swagger-ui.css',
    '/docs/swagger-ui-bundle.js',
    DOCUMENT,
    '/openapi.yaml',
    '/llms.txt',
    '/favicon.ico',
    '/guide',
  ])('%s: HEAD and 304 have the headers of the 200 and no body', async (path) => {
    for (const coding of CODINGS) {
      const { headers } = await sent(path, coding);
      const head = await sent(path, coding, {}, 'HEAD');
      expect(head.headers['content-security-policy']).toBe(headers['content-security-policy']);
      expect(head).toMatchObject({
        status: 200,
        text: '',
        headers: { 'content-length': headers['content-length'] },
      });
      expect(headers['cache-control']).toBe('no-cache');
      const tag = String(headers['etag']);
      for (const method of ['GET', 'HEAD']) {
        const current = await sent(path, coding, { 'if-none-match': tag }, method);
        expect(current).toMatchObject({
          status: 304,
          text: '',
          headers: { etag: tag, vary: headers['vary'] },
        });
      }
    }
  });

  it.each([DOCUMENT, '/openapi.yaml', '/guide/errors', '/llms-full.txt'])(
    '%s: any origin may read it, also after a preflight, and never with credentials',
    async (path) => {
      const tag = String((await sent(path, 'gzip')).headers['etag']);
      for (const origin of [SHOP, 'https://editor.swagger.io', 'null']) {
        for (const [status, method, more] of [
          [200, 'GET', {}],
          [200, 'HEAD', {}],
          [304, 'GET', { 'if-none-match': tag }],
          [204, 'OPTIONS', { 'access-control-request-method': 'GET' }],
          [405, 'OPTIONS', {}],
          [405, 'POST', { 'content-type': 'application/json' }],
        ] as const) {
          const response = await sent(path, 'gzip', { origin, ...more }, method);
          expect(response).toMatchObject({ status, headers: OPEN });
          expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
        }
      }
    },
  );

  it.each([
    [25_000, ['/guide']],
    [27_000, ['/', '/favicon.ico']],
    [
      520_000,
      [
        '/docs',
        '/docs/swagger-ui.css',
        '/docs/swagger-ui-bundle.js',
        '/docs/slim-document.js',
        '/favicon.ico',
      ],
    ],
  ])('transfers at most %i bytes compressed for %j', async (max, paths) => {
    let bytes = 0;
    for (const path of paths) bytes += Number((await sent(path, 'gzip')).headers['content-length']);
    expect(bytes).toBeLessThanOrEqual(max);
  });
});
