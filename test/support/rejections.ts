import { MAX_WEBHOOKS } from '../../src/webhooks/webhook.entity';
import type { TestApp } from './app';
import { aNewPet } from './factories';
import type { HttpResponse } from './http';
import { linksOf } from './links';

/** A request that gets this status and code. */
export type Rejection = readonly [status: number, code: string, ask: (app: TestApp) => Promise<HttpResponse>];

const REX = { name: 'Rex', categoryId: 1 };

/** Asks with a new key. */
async function getWith(app: TestApp, request: Parameters<TestApp['createKey']>[0]): Promise<HttpResponse> {
  return app.get('/v1/pets', { key: (await app.createKey(request)).key });
}

async function revoked(app: TestApp): Promise<HttpResponse> {
  const { id, key } = await app.createKey();
  await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
  return app.get('/v1/pets', { key });
}

/** Asks with a key of an account with these limits until one of them is used up. */
async function exhausted(app: TestApp, perMinute: number, perDay: number): Promise<HttpResponse> {
  const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute, perDay } });
  await app.get('/v1/pets', { key });
  return app.get('/v1/pets', { key });
}

/** Needs RATE_LIMIT_BAN_AFTER=2. */
async function banned(app: TestApp): Promise<HttpResponse> {
  const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
  for (let at = 0; at < 3; at += 1) {
    await app.get('/v1/pets', { key });
    app.clock.advance({ seconds: 1 });
  }
  return app.get('/v1/pets', { key });
}

const keyed = (app: TestApp, key: string, body: object): Promise<HttpResponse> =>
  app.post('/v1/pets', body, { headers: { 'idempotency-key': key } });

/** Orders a new animal of this status. */
async function order(app: TestApp, status: string) {
  const { id: petId } = (await app.post('/v1/pets', aNewPet({ status }))).json;
  return app.post('/v1/store/orders', { petId });
}

/** Orders with a key whose account has 1,000 open orders. */
async function orderMore(app: TestApp) {
  const { id, key } = await app.createKey();
  await app.database.query(
    `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
     SELECT account_id, account_id * 10000 + n, 'placed', now() FROM api_keys, generate_series(1, 1000) AS n WHERE api_keys.id = $1`,
    [id],
  );
  const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
  return app.post('/v1/store/orders', { petId }, { key });
}

/** Reads from before an event that was deleted. */
async function readRemoved(app: TestApp): Promise<HttpResponse> {
  const { next } = linksOf(await app.get('/v1/events?type=pet.deleted'));
  await app.database.query('UPDATE event_log SET removed_to = event_id_of(pg_current_xact_id())');
  return app.get(next!);
}

async function resendUnknown(app: TestApp): Promise<HttpResponse> {
  const { key } = await app.createKey();
  const { headers } = await app.post('/v1/webhooks', { url: 'https://shop.example/webhooks' }, { key });
  return app.post(`${headers['location']}/deliveries/9999/resend`, undefined, { key });
}

async function repeatWebhook(app: TestApp): Promise<HttpResponse> {
  const headers = { 'idempotency-key': 'webhook' };
  const create = () => app.post('/v1/webhooks', { url: 'https://shop.example/webhooks' }, { headers });
  await create();
  return create();
}

async function createWebhooks(app: TestApp): Promise<HttpResponse> {
  const create = () => app.post('/v1/webhooks', { url: 'https://shop.example/webhooks' });
  for (let count = 0; count < MAX_WEBHOOKS; count += 1) await create();
  return create();
}

async function removeOrdered(app: TestApp): Promise<HttpResponse> {
  const { petId } = (await order(app, 'available')).json;
  return app.send('DELETE', `/v1/pets/${petId}`);
}

/** Removes an animal to which a table of another module refers. The commit fails, not the DELETE. */
async function removeVisited(app: TestApp): Promise<HttpResponse> {
  const { id } = (await app.post('/v1/pets', aNewPet())).json;
  await app.database.query(`CREATE TABLE visits_${id} AS SELECT ${id}::bigint AS pet_id`);
  await app.database.query(
    `ALTER TABLE visits_${id} ADD FOREIGN KEY (pet_id) REFERENCES pets DEFERRABLE INITIALLY DEFERRED`,
  );
  return app.send('DELETE', `/v1/pets/${id}`);
}

async function deliverPlaced(app: TestApp): Promise<HttpResponse> {
  const { id } = (await order(app, 'available')).json;
  return app.send('PATCH', `/v1/store/orders/${id}`, { body: { status: 'delivered' } });
}

const account = (app: TestApp, facts: object = {}) => app.post('/v1/accounts', { name: 'acme', ...facts });

async function createDisabled(app: TestApp): Promise<HttpResponse> {
  await account(app, { name: 'closed' });
  await app.send('PATCH', '/v1/accounts/closed', { body: { disabled: true } });
  return app.post('/v1/accounts/closed/keys', {});
}

const EXPIRED_KEYS = new WeakMap<TestApp['database'], string>();

/** Rotates the same key each time, because the message names it. */
async function rotateExpired(app: TestApp): Promise<HttpResponse> {
  const known = EXPIRED_KEYS.get(app.database);
  const id = known ?? (await app.createKey({ expiresAt: new Date(app.clock.now()) })).id;
  EXPIRED_KEYS.set(app.database, id);
  return app.post(`/v1/keys/${id}/rotate`, {});
}

async function planConflict(app: TestApp): Promise<HttpResponse> {
  await account(app, { name: 'buyer' });
  return app.send('PATCH', '/v1/accounts/buyer', { body: { perDay: 5 } });
}

async function revokeLast(app: TestApp): Promise<HttpResponse> {
  const { id } = (await app.get('/v1/key')).json;
  await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id <> $1', [id]);
  return app.send('DELETE', `/v1/keys/${id}`);
}

/** A request for each code, but for those of the parser and those that need a broken service. */
export const rejections: readonly Rejection[] = [
  [400, 'malformed_request', (app) => app.get('/v1/%ff')],
  [400, 'malformed_json', (app) => app.post('/v1/pets', '{')],
  [400, 'validation_failed', (app) => app.post('/v1/pets', {})],
  [400, 'invalid_cursor', (app) => app.get('/v1/pets?cursor=x')],
  [401, 'missing_api_key', (app) => app.get('/v1/pets', { key: undefined })],
  [401, 'invalid_api_key', (app) => app.get('/v1/pets', { key: 'x' })],
  [401, 'expired_api_key', (app) => getWith(app, { expiresAt: new Date(app.clock.now()) })],
  [401, 'revoked_api_key', revoked],
  [403, 'insufficient_scope', (app) => getWith(app, { scopes: ['orders:read'] })],
  [404, 'route_not_found', (app) => app.get('/v1/nothing')],
  [404, 'route_not_found', (app) => app.get('/nothing', { key: undefined })],
  [405, 'method_not_allowed', (app) => app.send('DELETE', '/v1/pets')],
  [413, 'payload_too_large', (app) => app.post('/v1/pets', 'x'.repeat(70_000))],
  [414, 'uri_too_long', (app) => app.get(`/v1/pets?x=${'x'.repeat(9_000)}`)],
  [
    415,
    'unsupported_media_type',
    (app) => app.post('/v1/pets', 'x', { headers: { 'content-type': 'text/plain' } }),
  ],
  [410, 'cursor_expired', readRemoved],
  [417, 'expectation_failed', (app) => app.get('/v1/pets', { headers: { expect: 'x' } })],
  [
    422,
    'idempotency_key_reused',
    async (app) => (await keyed(app, 'once', REX)) && keyed(app, 'once', { ...REX, name: 'Max' }),
  ],
  [429, 'rate_limit_exceeded', (app) => exhausted(app, 1, 9)],
  [429, 'daily_quota_exceeded', (app) => exhausted(app, 9, 1)],
  [429, 'api_key_banned', banned],
  [404, 'pet_not_found', (app) => app.get('/v1/pets/9999')],
  [409, 'pet_has_open_order', removeOrdered],
  [409, 'pet_in_use', removeVisited],
  [404, 'order_not_found', (app) => app.get('/v1/store/orders/9999')],
  [409, 'pet_not_available', (app) => order(app, 'sold')],
  [409, 'too_many_open_orders', orderMore],
  [409, 'invalid_transition', deliverPlaced],
  [404, 'webhook_not_found', (app) => app.get('/v1/webhooks/9999')],
  [404, 'event_not_found', resendUnknown],
  [409, 'secret_already_shown', repeatWebhook],
  [409, 'too_many_webhooks', createWebhooks],
  [403, 'address_not_allowed', (app) => getWith(app, { addresses: ['192.0.2.1'] })],
  [404, 'account_not_found', (app) => app.get('/v1/accounts/missing')],
  [404, 'key_not_found', (app) => app.get('/v1/keys/9999')],
  [409, 'account_exists', async (app) => (await account(app)) && account(app)],
  [409, 'account_disabled', createDisabled],
  [409, 'plan_conflict', planConflict],
  [409, 'key_not_usable', rotateExpired],
  [409, 'last_admin_key', revokeLast],
];
