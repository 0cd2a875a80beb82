import type { OpenAPIObject } from '@nestjs/swagger';
import { codesOf } from '../../src/server/openapi/codes';
import { MAX_WEBHOOKS } from '../../src/webhooks/webhook.entity';
import { startApp, type TestApp } from '../support/app';
import { readCommittedDocument } from '../support/committed-document';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse, RequestOptions } from '../support/http';
import { linksOf } from '../support/links';
import { createPatientDatabase } from '../support/patience';
import { withoutTable } from '../support/without-table';

type Ask = (app: TestApp) => Promise<HttpResponse>;
/** A request that gets this status and code. */
type Row = readonly [status: number, code: string, ask: Ask];

const ORDERS = '/v1/store/orders';
const WEBHOOK = { url: 'https://shop.example/webhooks' };
const NO_KEY = { key: undefined };
const NEW_WEBHOOK = [
  'POST',
  '/v1/webhooks',
  { body: WEBHOOK, headers: { 'idempotency-key': 'hook' } },
] as const;

/** Sends requests with a new key in turn, and returns the last response. */
const sends =
  (...requests: readonly (readonly [method: string, path: string, options?: RequestOptions])[]): Ask =>
  async (app) => {
    const { key } = await app.createKey();
    let response: HttpResponse;
    for (const [method, path, options] of requests)
      response = await app.send(method, path, { key, ...options });
    return response!;
  };
const get = (path: string, options: RequestOptions = {}): Ask => sends(['GET', path, options]);
const post = (path: string, ...bodies: readonly unknown[]): Ask =>
  sends(...bodies.map((body) => ['POST', path, { body }] as const));

/** Reads animals with a new key, until the last response. */
const reads =
  (request: Parameters<TestApp['createKey']>[0], times = 1): Ask =>
  async (app) => {
    const { key } = await app.createKey(request);
    for (let left = times - 1; left > 0; left -= 1) {
      await app.get('/v1/pets', { key });
      // Strikes are a second apart.
      if (times > 2) app.clock.advance({ seconds: 1 });
    }
    return app.get('/v1/pets', { key });
  };
const limited = (perMinute: number, perDay: number) =>
  ({ choice: { plan: 'enterprise', perMinute, perDay } }) as const;

/** Changes rows of a new key before its requests. */
const after =
  (statement: string, ask: (app: TestApp, key: string) => Promise<HttpResponse>): Ask =>
  async (app) => {
    const { id, key } = await app.createKey();
    await app.database.query(statement, [id]);
    return ask(app, key);
  };
const OPEN_ORDERS = `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
  SELECT account_id, account_id * 10000 + n, 'placed', now() FROM api_keys, generate_series(1, 1000) AS n WHERE api_keys.id = $1`;

const newPet = async (app: TestApp, members = {}): Promise<number> =>
  (await app.post('/v1/pets', aNewPet(members))).json.id;
const order = async (app: TestApp, members = {}, key = app.key) =>
  app.post(ORDERS, { petId: await newPet(app, members) }, { key });

/** Reads from before an event that was deleted. */
async function readRemoved(app: TestApp): Promise<HttpResponse> {
  const { next } = linksOf(await app.get('/v1/events?type=pet.deleted'));
  await app.database.query('UPDATE event_log SET removed_to = event_id_of(pg_current_xact_id())');
  return app.get(next!);
}

/** Removes an animal to which a table of another module refers. The commit fails, not the DELETE. */
async function removeVisited(app: TestApp): Promise<HttpResponse> {
  const id = await newPet(app);
  await app.database.query(`CREATE TABLE visits AS SELECT ${id}::bigint AS pet_id`);
  await app.database.query(
    'ALTER TABLE visits ADD FOREIGN KEY (pet_id) REFERENCES pets DEFERRABLE INITIALLY DEFERRED',
  );
  return app.send('DELETE', `/v1/pets/${id}`);
}

/** Orders twice concurrently: while the row of the animal is locked, only the second request gets a response. */
async function inUse(app: TestApp): Promise<HttpResponse> {
  const petId = await newPet(app);
  const headers = { 'idempotency-key': 'concurrent' };
  await app.database.query('BEGIN');
  await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
  const orders = [1, 2].map(() => app.post(ORDERS, { petId }, { headers }));
  const first = await Promise.race(orders);
  await app.database.query('ROLLBACK');
  await Promise.all(orders);
  return first;
}

const ROWS: readonly Row[] = [
  [400, 'malformed_request', get('/v1/%ff')],
  [400, 'malformed_json', post('/v1/pets', '{')],
  [400, 'validation_failed', post('/v1/pets', {})],
  [400, 'invalid_cursor', get('/v1/pets?cursor=x')],
  [401, 'missing_api_key', get('/v1/pets', NO_KEY)],
  [401, 'invalid_api_key', get('/v1/pets', { key: 'x' })],
  [401, 'expired_api_key', (app) => reads({ expiresAt: new Date(app.clock.now()) })(app)],
  [
    401,
    'revoked_api_key',
    after('UPDATE api_keys SET revoked_at = now() WHERE id = $1', (app, key) => app.get('/v1/pets', { key })),
  ],
  [403, 'insufficient_scope', reads({ scopes: ['orders:read'] })],
  [403, 'address_not_allowed', reads({ addresses: ['192.0.2.1'] })],
  [404, 'route_not_found', get('/v1/nothing')],
  [405, 'method_not_allowed', sends(['DELETE', '/v1/pets'])],
  [413, 'payload_too_large', post('/v1/pets', 'x'.repeat(70_000))],
  [414, 'uri_too_long', get(`/v1/pets?x=${'x'.repeat(9_000)}`)],
  [
    415,
    'unsupported_media_type',
    sends(['POST', '/v1/pets', { body: 'x', headers: { 'content-type': 'text/plain' } }]),
  ],
  [410, 'cursor_expired', readRemoved],
  [417, 'expectation_failed', get('/v1/pets', { headers: { expect: 'x' } })],
  [409, 'idempotency_key_in_use', inUse],
  [
    422,
    'idempotency_key_reused',
    sends(
      ...[aNewPet(), aNewPet({ name: 'Max' })].map(
        (body) => ['POST', '/v1/pets', { body, headers: { 'idempotency-key': 'once' } }] as const,
      ),
    ),
  ],
  [429, 'rate_limit_exceeded', reads(limited(1, 9), 2)],
  [429, 'daily_quota_exceeded', reads(limited(9, 1), 2)],
  [429, 'api_key_banned', reads(limited(1, 9), 4)],
  [404, 'pet_not_found', get('/v1/pets/9999')],
  [409, 'pet_has_open_order', async (app) => app.send('DELETE', `/v1/pets/${(await order(app)).json.petId}`)],
  [409, 'pet_in_use', removeVisited],
  [
    412,
    'precondition_failed',
    async (app) => app.send('DELETE', `/v1/pets/${await newPet(app)}`, { headers: { 'if-match': '"x"' } }),
  ],
  [404, 'order_not_found', get(`${ORDERS}/9999`)],
  [409, 'pet_not_available', (app) => order(app, { status: 'sold' })],
  [409, 'too_many_open_orders', after(OPEN_ORDERS, (app, key) => order(app, {}, key))],
  [
    409,
    'invalid_transition',
    async (app) =>
      app.send('PATCH', `${ORDERS}/${(await order(app)).json.id}`, { body: { status: 'delivered' } }),
  ],
  [404, 'webhook_not_found', get('/v1/webhooks/9999')],
  [
    404,
    'event_not_found',
    async (app) => {
      const { key } = await app.createKey();
      const { id } = (await app.post('/v1/webhooks', WEBHOOK, { key })).json;
      return app.post(`/v1/webhooks/${id}/deliveries/9999/resend`, undefined, { key });
    },
  ],
  [409, 'secret_already_shown', sends(NEW_WEBHOOK, NEW_WEBHOOK)],
  [
    409,
    'too_many_webhooks',
    post('/v1/webhooks', ...Array.from({ length: MAX_WEBHOOKS + 1 }, () => WEBHOOK)),
  ],
  [404, 'account_not_found', get('/v1/accounts/missing')],
  [404, 'key_not_found', get('/v1/keys/9999')],
  [409, 'account_exists', post('/v1/accounts', { name: 'acme' }, { name: 'acme' })],
  [
    409,
    'account_disabled',
    sends(
      ['POST', '/v1/accounts', { body: { name: 'closed' } }],
      ['PATCH', '/v1/accounts/closed', { body: { disabled: true } }],
      ['POST', '/v1/accounts/closed/keys', { body: {} }],
    ),
  ],
  [
    409,
    'plan_conflict',
    sends(
      ['POST', '/v1/accounts', { body: { name: 'buyer' } }],
      ['PATCH', '/v1/accounts/buyer', { body: { perDay: 5 } }],
    ),
  ],
  [
    409,
    'key_not_usable',
    async (app) => {
      const { id } = await app.createKey({ expiresAt: new Date(app.clock.now()) });
      return app.post(`/v1/keys/${id}/rotate`, {});
    },
  ],
  [
    409,
    'last_admin_key',
    async (app) => {
      const { id } = (await app.get('/v1/key')).json;
      await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id <> $1', [id]);
      return app.send('DELETE', `/v1/keys/${id}`);
    },
  ],
  [500, 'internal_error', (app) => withoutTable(app.database, 'pets', () => app.get('/v1/pets'))],
];

/** test/edge/protocol-errors.spec.ts requests them. */
const OF_THE_PARSER = ['headers_too_large', 'request_timeout'];

// Each request also checks the headers of its response, those of the rate limit included: openapi.json requires them.
describe('the Error body', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 2 }, { database: await createPatientDatabase() });
  });

  it.each(ROWS)('%i %s has code, message and status', async (status, code, ask) => {
    expectError(await ask(app), status, code);
  });

  it('is checked for every code of the document', () => {
    const checked = new Set([...ROWS.map(([, code]) => code), ...OF_THE_PARSER]);
    const { paths }: OpenAPIObject = JSON.parse(readCommittedDocument());
    const codes = codesOf(paths).map(({ code }) => code);
    expect(codes.filter((code) => !checked.has(code))).toEqual(['service_unavailable']);
  });

  it.each<[string, number, string, object]>([
    ['/v1/pets/9999', 404, 'pet_not_found', {}],
    ['/v1/pets', 401, 'invalid_api_key', { authorization: 'Bearer x' }],
    ['/v1/pets', 417, 'expectation_failed', { expect: 'x' }],
    ['/nothing', 404, 'route_not_found', {}],
  ])('is application/json whatever Accept says: %s, %i %s', async (path, status, code, more) => {
    for (const accept of ['application/problem+json', 'text/html', 'application/json;q=0']) {
      expectError(await app.get(path, { headers: { accept, ...more } }), status, code);
    }
  });

  it.each<[string, string | Buffer]>([
    ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
    ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['two members of one object have the same name and different values (at character 8)', '{"a":1,"a":2}'],
  ])('malformed_json says: %s', async (reason, body) => {
    const { json } = await app.post('/v1/pets', body);
    expect(json.message).toBe(`The body is not acceptable JSON: ${reason}.`);
  });
});
