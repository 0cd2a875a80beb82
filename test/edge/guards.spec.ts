import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { send } from '../support/http';

describe('the guards', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const without = { key: undefined };

  describe('401 for a request without a key under /v1, before any other error', () => {
    it.each([
      // test/edge/order-of-checks.spec.ts has more.
      ['GET', '/v1'],
      ['GET', '/%76%31/%ff'],
      ['GET', '/v1/../v1/pets'],
      ['GET', 'HTTPS://user@x/v1/nothing'],
    ])('%s %s', async (method, path) => {
      expectError(await app.send(method, path, without), 401, 'missing_api_key');
    });
  });

  it.each(['/nothing', '/V1/pets', '//v1/pets', '/favicon.png', '/docs/../v1/pets', '/docs/%00', '*'])(
    '404 route_not_found for %s, outside the API, without a key',
    async (path) =>
      expectError(await app.send(path === '*' ? 'OPTIONS' : 'GET', path, without), 404, 'route_not_found'),
  );

  it('414 uri_too_long for more than 8,192 bytes, with and without a key; 200 for 8,192 bytes', async () => {
    const path = (bytes: number) => `/v1/pets?x=${'x'.repeat(bytes - '/v1/pets?x='.length)}`;
    expect((await app.get(path(8_192))).status).toBe(200);
    expectError(await app.get(path(8_193)), 414, 'uri_too_long');
    expectError(await app.get(path(8_193), without), 414, 'uri_too_long');
    expectError(await app.get(`/v1/pets/${'1'.repeat(9_000)}`), 414, 'uri_too_long');
  });

  describe('405 with Allow', () => {
    // Those of the API are in src/testing/promises and in test/edge/raw/request-line.rows.ts, which has every method.
    const methods = ['DELETE', 'PATCH', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND'];

    it.each(['/', '/docs', '/openapi.json', '/openapi.yaml', '/livez', '/readyz'])(
      'for every method but GET and HEAD of %s, without a key',
      async (path) => {
        for (const method of methods) {
          const response = await app.send(method, path, without);
          expectError(response, 405, 'method_not_allowed');
          expect(response.headers['allow']).toBe('GET, HEAD');
        }
      },
    );
  });

  it('rejects a HEAD request like a GET request, without a body', async () => {
    expect(await send(app.url, 'HEAD', '/v1/pets')).toMatchObject({ status: 401, text: '' });
    expect(await app.send('HEAD', '/v1/nothing')).toMatchObject({ status: 404, text: '' });
  });
});
