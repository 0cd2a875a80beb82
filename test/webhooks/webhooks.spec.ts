import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { createWebhook, PATH } from './support/receivers';

const URL = 'https://shop.example/hooks?token=hidden';
const MANAGE = ['webhooks:manage', 'pets:read', 'orders:read'];

describe('webhooks', () => {
  let app: TestApp;
  let account: string;
  let id: string;
  let key: string;
  let admin: { id: string; key: string };
  beforeAll(async () => {
    app = await startApp();
    admin = await app.createKey({ account: 'operators', scopes: ['admin'] });
  });
  beforeEach(async () => {
    account = randomUUID();
    ({ id, key } = await app.createKey({ account, scopes: MANAGE }));
  });
  afterAll(() => app.close());

  const listOf = (name: string, by = admin) => app.get(`${PATH}?account=${name}&limit=100`, { key: by.key });
  const remove = (path: string) => app.send('DELETE', path, { key: admin.key });
  const create = () => createWebhook(app, { url: URL }, { key });
  const update = (path: string, body: object, headers = {}) =>
    app.send('PATCH', path, { key, body, headers });
  const auditOf = async (name: string) =>
    (await app.get(`/v1/audit?account=${name}`)).json.slice(1) as Record<string, unknown>[];

  it('are created with a secret, which later responses do not have', async () => {
    const response = await app.post(PATH, { url: URL, types: ['pet.created'] }, { key });
    const { secret, ...webhook } = response.json;
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`${PATH}/${webhook.id}`);
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const at = new Date(app.clock.now()).toISOString();
    const state = {
      status: 'active',
      createdAt: at,
      updatedAt: at,
      lastDeliveryAt: null,
      lastError: null,
      waitingSince: null,
      nextAttemptAt: null,
    };
    expect(webhook).toEqual({ id: webhook.id, url: URL, types: ['pet.created'], ...state });
    expect((await app.get(`${PATH}/${webhook.id}`, { key })).json).toEqual(webhook);
    expect((await app.get(PATH, { key })).json).toEqual([webhook]);
  });

  it.each([
    'GET ',
    'PATCH ',
    'DELETE ',
    'POST /test',
    'POST /rotate',
    'GET /deliveries',
    'POST /deliveries/0/resend',
  ])('are those of the account: %s of another is 404', async (request) => {
    const { path } = await create();
    const other = await app.createKey({ scopes: ['webhooks:manage'] });
    const [method, end] = request.split(' ') as [string, string];
    const body = method === 'PATCH' ? { status: 'disabled' } : undefined;
    expectError(await app.send(method, path + end, { key: other.key, body }), 404, 'webhook_not_found');
    expect((await app.get(PATH, { key: other.key })).json).toEqual([]);
    expect((await app.get(path, { key })).json.status).toBe('active');
  });

  it('are at most ten for an account, also if they are created concurrently', async () => {
    const responses = await Promise.all(
      Array.from({ length: 15 }, () => app.post(PATH, { url: URL }, { key })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const rejected = responses.filter(({ status }) => status !== 201);
    for (const each of rejected) expectError(each, 409, 'too_many_webhooks');
    expect((await app.get(`${PATH}?sort=-id&limit=100`, { key })).json).toHaveLength(10);
  });

  it('are changed and removed only if they are as the client has seen them; a repeated removal is 204', async () => {
    const { path } = await create();
    const { headers } = await app.get(path, { key });
    const condition = { 'if-match': String(headers['etag']) };
    const changed = await update(path, { types: ['order.placed'], status: 'disabled' }, condition);
    expect(changed.json).toMatchObject({ url: URL, types: ['order.placed'], status: 'disabled' });
    expectError(await update(path, { status: 'active' }, condition), 412, 'precondition_failed');
    expectError(await app.send('DELETE', path, { key, headers: condition }), 412, 'precondition_failed');
    expect((await update(path, { types: null, status: 'active' })).json).toMatchObject({
      types: null,
      status: 'active',
    });
    expectError(await update(path, {}), 400, 'validation_failed');
    const current = { 'if-match': (await app.get(path, { key })).headers['etag']! };
    for (const by of [admin.key, key])
      expect((await app.send('DELETE', path, { key: by, headers: current })).status).toBe(204);
    expectError(await app.get(path, { key }), 404, 'webhook_not_found');
  });

  it('are listed and removed by a key with admin, also after their key was revoked', async () => {
    const { secret: _, path, ...webhook } = await create();
    await app.send('DELETE', `/v1/keys/${id}`);
    await app.send('PATCH', `/v1/accounts/${account}`, { body: { disabled: true } });
    expect((await listOf(account)).json).toEqual([{ ...webhook, account }]);
    expect((await listOf('*')).json).toContainEqual({ ...webhook, account });
    for (const query of ['', '?account=nobody'])
      expect((await app.get(PATH + query, { key: admin.key })).json).toEqual([]);
    expect((await remove(path)).status).toBe(204);
    expect((await listOf(account)).json).toEqual([]);
  });

  it('are of other accounts only for a key with admin, which may only list and remove them', async () => {
    const { path } = await create();
    const other = await app.createKey({ scopes: MANAGE });
    for (const name of [account, '*', 'nobody']) {
      const response = await listOf(name, other);
      expectError(response, 403, 'insufficient_scope');
      expect(response.headers['www-authenticate']).toContain('scope="admin"');
    }
    for (const request of ['GET ', 'PATCH ', 'POST /test', 'POST /rotate']) {
      const [method, end] = request.split(' ') as [string, string];
      expectError(await app.send(method, path + end, { key: admin.key }), 403, 'insufficient_scope');
    }
    const { json } = await app.get(PATH, { key });
    expect(json.map((each: object) => [each, 'account' in each])).toMatchObject([[{ url: URL }, false]]);
  });

  it('have an audit entry for each change, with its key and without secrets, and none for a repeated one', async () => {
    const { path, id: webhook, secret } = await create();
    const types = ['pet.created', 'pet.deleted'];
    await update(path, { url: 'https://shop.example:8443/new?token=hidden', types });
    await update(path, { types });
    expectError(await update(path, { url: 'http://shop.example' }), 400, 'validation_failed');
    await update(path, { status: 'disabled' });
    const options = { key, headers: { 'idempotency-key': 'a' } };
    const rotate = () => app.post(`${path}/rotate`, undefined, options);
    const secrets = [secret, (await rotate()).json.secret, 'hidden'];
    expectError(await rotate(), 409, 'secret_already_shown');
    await remove(path);
    const entries = await auditOf(account);
    const changed = `webhook ${webhook}, url https://shop.example:8443/new, types pet.created, pet.deleted, status`;
    expect(entries.map(({ command, details, madeByKey }) => [command, details, madeByKey])).toEqual([
      ['webhooks create', `webhook ${webhook}, url https://shop.example/hooks, types all, status active`, id],
      ['webhooks update', `${changed} active`, id],
      ['webhooks update', `${changed} disabled`, id],
      ['webhooks rotate', `${changed} disabled`, id],
      ['webhooks remove', `${changed} disabled`, admin.id],
    ]);
    for (const each of secrets) expect(JSON.stringify(entries)).not.toContain(each);
  });

  it('stay as they are if the audit cannot be written', async () => {
    const { path } = await create();
    const before = (await listOf(account)).json;
    await app.database.query('ALTER TABLE audit_entries ADD CONSTRAINT closed CHECK (false) NOT VALID');
    const responses = [
      await app.post(PATH, { url: URL }, { key }),
      await update(path, { status: 'disabled' }),
      await app.post(`${path}/rotate`, undefined, { key }),
      await remove(path),
    ];
    await app.database.query('ALTER TABLE audit_entries DROP CONSTRAINT closed');
    expect(responses.map(({ status }) => status)).toEqual([500, 500, 500, 500]);
    expect((await listOf(account)).json).toEqual(before);
  });
});
