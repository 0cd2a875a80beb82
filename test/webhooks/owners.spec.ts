import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { createWebhook, PATH } from './support/receivers';

const URL = 'https://shop.example/hooks?token=hidden';
const MANAGE = ['webhooks:manage', 'pets:read', 'orders:read'];

describe('webhooks of an account', () => {
  let app: TestApp;
  let account: string;
  let owner: { id: string; key: string };
  let admin: { id: string; key: string };
  beforeAll(async () => {
    app = await startApp();
    admin = await app.createKey({ account: 'operators', scopes: ['admin'] });
  });
  beforeEach(async () => {
    account = randomUUID();
    owner = await app.createKey({ account, scopes: MANAGE });
  });
  afterAll(() => app.close());

  const listOf = (name: string, { key } = admin) => app.get(`${PATH}?account=${name}&limit=100`, { key });
  const remove = (path: string, { key } = admin, headers = {}) => app.send('DELETE', path, { key, headers });
  const create = () => createWebhook(app, { url: URL }, owner);
  const patch = (path: string, body: object) => app.send('PATCH', path, { key: owner.key, body });
  const auditOf = async (name: string) =>
    (await app.get(`/v1/audit?account=${name}`)).json.slice(1) as Record<string, unknown>[];

  it('are listed and removed by a key with admin, also after their key was revoked', async () => {
    const { secret: _, path, ...webhook } = await create();
    await app.send('DELETE', `/v1/keys/${owner.id}`);
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
    expectError(await remove(path, other), 404, 'webhook_not_found');
    for (const request of ['GET ', 'PATCH ', 'POST /test', 'POST /rotate']) {
      const [method, end] = request.split(' ') as [string, string];
      expectError(await app.send(method, path + end, { key: admin.key }), 403, 'insufficient_scope');
    }
    const { json } = await app.get(PATH, { key: owner.key });
    expect(json.map((each: object) => [each, 'account' in each])).toMatchObject([[{ url: URL }, false]]);
  });

  it('are removed by a key with admin only as it has seen them; a repeated removal is 204', async () => {
    const { path } = await create();
    const tag = async () => ({ 'if-match': (await app.get(path, { key: owner.key })).headers['etag'] });
    const old = await tag();
    await patch(path, { types: ['pet.created'] });
    expectError(await remove(path, admin, old), 412, 'precondition_failed');
    const current = await tag();
    for (const _ of [1, 2]) expect((await remove(path, admin, current)).status).toBe(204);
  });

  it('have an audit entry for each change, with its key and without secrets, and none for a repeated one', async () => {
    const { path, id, secret } = await create();
    const types = ['pet.created', 'pet.deleted'];
    await patch(path, { url: 'https://shop.example:8443/new?token=hidden', types });
    await patch(path, { types });
    expectError(await patch(path, { url: 'http://shop.example' }), 400, 'validation_failed');
    await patch(path, { status: 'disabled' });
    const options = { key: owner.key, headers: { 'idempotency-key': 'a' } };
    const rotate = () => app.post(`${path}/rotate`, undefined, options);
    const secrets = [secret, (await rotate()).json.secret, 'hidden'];
    expectError(await rotate(), 409, 'secret_already_shown');
    await remove(path);
    const entries = await auditOf(account);
    const changed = `webhook ${id}, url https://shop.example:8443/new, types pet.created, pet.deleted, status`;
    expect(entries.map(({ command, details, madeByKey }) => [command, details, madeByKey])).toEqual([
      [
        'webhooks create',
        `webhook ${id}, url https://shop.example/hooks, types all, status active`,
        owner.id,
      ],
      ['webhooks update', `${changed} active`, owner.id],
      ['webhooks update', `${changed} disabled`, owner.id],
      ['webhooks rotate', `${changed} disabled`, owner.id],
      ['webhooks remove', `${changed} disabled`, admin.id],
    ]);
    for (const each of secrets) expect(JSON.stringify(entries)).not.toContain(each);
  });

  it('stay as they are if the audit cannot be written', async () => {
    const { path } = await create();
    const before = (await listOf(account)).json;
    await app.database.query('ALTER TABLE audit_entries ADD CONSTRAINT closed CHECK (false) NOT VALID');
    const responses = [
      await app.post(PATH, { url: URL }, { key: owner.key }),
      await patch(path, { status: 'disabled' }),
      await app.post(`${path}/rotate`, undefined, { key: owner.key }),
      await remove(path),
    ];
    await app.database.query('ALTER TABLE audit_entries DROP CONSTRAINT closed');
    expect(responses.map(({ status }) => status)).toEqual([500, 500, 500, 500]);
    expect((await listOf(account)).json).toEqual(before);
  });
});
