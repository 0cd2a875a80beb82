import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { RequestOptions } from '../support/http';

const ADDRESS_LIMIT = 40;

const JSON_BODY = { 'content-type': 'application/json' };
const BROKEN = { body: '{"broken', headers: JSON_BODY };
const TEXT = { body: 'name=Rex', headers: { 'content-type': 'text/plain' } };
const LARGE = { body: `"${'x'.repeat(70_000)}"`, headers: JSON_BODY };
const LARGE_TEXT = { body: LARGE.body, headers: TEXT.headers };
const INVALID = { body: { name: '' } };
const CODED = { body: '{}', headers: { ...JSON_BODY, 'content-encoding': 'gzip' } };

/** The key and the rate limit are checked first. */
const FIRST = [
  '401 missing_api_key',
  '401 invalid_api_key',
  '429 rate_limit_exceeded',
  '429 rate_limit_exceeded',
  '429 api_key_banned',
];

/** A request, and what follows with a key that lacks the scope and with the right key. */
type Row = [method: string, path: string, options: RequestOptions, noScope: string, right: string];

const REQUESTS: readonly Row[] = [
  ['GET', '/v1/pets', {}, '403 insufficient_scope', '200'],
  ['GET', '/v1/pets?limit=0', {}, '403 insufficient_scope', '400 validation_failed'],
  ['GET', '/v1/pets?cursor=x', {}, '403 insufficient_scope', '400 invalid_cursor'],
  ['GET', '/v1/pets/999', {}, '403 insufficient_scope', '404 pet_not_found'],
  ['GET', '/v1/pets/x', {}, '403 insufficient_scope', '404 pet_not_found'],
  ...['/v1', '/v1/nothing', '/v1/../v1/pets', 'HTTPS://user@x/v1/nothing'].map((path): Row => [
    'GET',
    path,
    {},
    '404 route_not_found',
    '404 route_not_found',
  ]),
  ['GET', '/v1/pets/', {}, '404 route_not_found', '404 route_not_found'],
  ['POST', '/v1/nothing', BROKEN, '404 route_not_found', '404 route_not_found'],
  ['POST', '/v1/nothing', LARGE_TEXT, '404 route_not_found', '404 route_not_found'],
  ['DELETE', '/v1/pets', {}, '405 method_not_allowed', '405 method_not_allowed'],
  ['DELETE', '/v1/pets', BROKEN, '405 method_not_allowed', '405 method_not_allowed'],
  ['POST', '/v1/pets/1', LARGE_TEXT, '405 method_not_allowed', '405 method_not_allowed'],
  ['PROPFIND', '/v1/pets', {}, '405 method_not_allowed', '405 method_not_allowed'],
  ['OPTIONS', '/v1/pets', {}, '405 method_not_allowed', '405 method_not_allowed'],
  ...['/v1/%ff', '/%76%31/%ff'].map((path): Row => [
    'GET',
    path,
    {},
    '400 malformed_request',
    '400 malformed_request',
  ]),
  ['DELETE', '/v1/pets/%ff', TEXT, '400 malformed_request', '400 malformed_request'],
  ['POST', '/v1/pets', BROKEN, '403 insufficient_scope', '400 malformed_json'],
  ['POST', '/v1/pets', {}, '403 insufficient_scope', '400 validation_failed'],
  ['POST', '/v1/pets', TEXT, '403 insufficient_scope', '415 unsupported_media_type'],
  ['POST', '/v1/pets', CODED, '403 insufficient_scope', '415 unsupported_media_type'],
  ['POST', '/v1/pets', LARGE, '403 insufficient_scope', '413 payload_too_large'],
  ['POST', '/v1/pets', LARGE_TEXT, '403 insufficient_scope', '415 unsupported_media_type'],
  ['POST', '/v1/pets', INVALID, '403 insufficient_scope', '400 validation_failed'],
  ['PATCH', '/v1/pets/999', INVALID, '403 insufficient_scope', '400 validation_failed'],
  ['PATCH', '/v1/pets/999', { body: { name: 'Rex' } }, '403 insufficient_scope', '404 pet_not_found'],
  ['POST', '/v1/store/orders', { body: { petId: 999 } }, '403 insufficient_scope', '404 pet_not_found'],
  ['POST', '/mcp', { ...BROKEN, isDocumented: false }, '400 malformed_json', '400 malformed_json'],
];

describe('the order of checks', () => {
  let app: TestApp;
  /** The senders of each request, in the order of their responses. */
  const options = new Map<string, RequestOptions>();
  beforeAll(async () => {
    const trustProxy = ['127.0.0.1'];
    app = await startApp({ trustProxy, rateLimitBanAfter: 2, rateLimitAnonymousPerMinute: ADDRESS_LIMIT });
    const choice = { plan: 'enterprise', perMinute: 1, perDay: 1_000_000 } as const;
    const [usedUp, banned] = [await app.createKey({ choice }), await app.createKey({ choice })];
    const ofAddress = (address: string, key?: string) => ({ key, headers: { 'x-forwarded-for': address } });
    options.set('no key', ofAddress('192.0.2.1'));
    options.set('wrong key', ofAddress('192.0.2.2', usedUp.key.replace(/.$/, '')));
    options.set('used-up address', ofAddress('192.0.2.3'));
    options.set('used-up key', ofAddress('192.0.2.4', usedUp.key));
    options.set('banned key', ofAddress('192.0.2.5', banned.key));
    options.set('no scope', ofAddress('192.0.2.6', await app.unlimitedKey(['orders:read'])));
    options.set('right key', ofAddress('192.0.2.7', await app.unlimitedKey()));
    const spend = async (sender: string, count: number) => {
      for (let sent = 0; sent < count; sent += 1) await app.get('/v1/pets', options.get(sender));
    };
    // The second 429 is the last strike.
    await spend('banned key', 2);
    app.clock.advance({ seconds: 1 });
    await spend('banned key', 1);
    await spend('used-up address', ADDRESS_LIMIT);
    await spend('used-up key', 1);
  });

  it.each(REQUESTS)('%s %s %#', async (method, path, request, noScope, right) => {
    const outcomes: string[] = [];
    for (const own of options.values()) {
      const headers = { ...own.headers, ...request.headers };
      const { status, text } = await app.send(method, path, { ...own, ...request, headers });
      outcomes.push(status < 400 ? `${status}` : `${status} ${JSON.parse(text).code}`);
    }
    expect(outcomes).toEqual([...FIRST, noScope, right]);
  });

  describe('without a key, outside the API', () => {
    const key = undefined;

    it.each(['/nothing', '/V1/pets', '//v1/pets', '/favicon.png', '/docs/../v1/pets', '/docs/%00', '*'])(
      '%s is 404 route_not_found',
      async (path) =>
        expectError(await app.send(path === '*' ? 'OPTIONS' : 'GET', path, { key }), 404, 'route_not_found'),
    );

    // Those of the API are in test/edge/raw/framing.rows.ts and in src/testing/promises.
    it.each(['/', '/docs', '/openapi.json', '/openapi.yaml', '/livez', '/readyz'])(
      '%s is 405 with Allow for every method but GET and HEAD',
      async (path) => {
        for (const method of ['DELETE', 'PATCH', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND']) {
          const response = await app.send(method, path, { key });
          expectError(response, 405, 'method_not_allowed');
          expect(response.headers['allow']).toBe('GET, HEAD');
        }
      },
    );
  });

  it('accepts a URL of 8,192 bytes; a longer one is 414 with and without a key', async () => {
    const path = (bytes: number) => `/v1/pets?x=${'x'.repeat(bytes - '/v1/pets?x='.length)}`;
    expect((await app.get(path(8_192))).status).toBe(200);
    for (const given of [{}, { key: undefined }])
      expectError(await app.get(path(8_193), given), 414, 'uri_too_long');
  });
});
