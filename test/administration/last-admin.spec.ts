import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';

describe('the last usable key with the scope admin', () => {
  let app: TestApp;
  beforeEach(async () => (app = await startApp()));
  afterEach(() => app.close());

  const admins = () =>
    app.database.query(`SELECT FROM api_keys WHERE 'admin' = ANY (scopes) AND revoked_at IS NULL`);

  it('cannot revoke itself, lose the scope, expire earlier, or have its account disabled', async () => {
    await app.createKey({ expiresAt: new Date(app.clock.now()) });
    const { id, account } = (await app.get('/v1/key')).json;
    const { json: before } = await app.get('/v1/audit');
    const path = `/v1/accounts/${encodeURIComponent(account)}`;
    for (const [method, target, body] of [
      ['DELETE', `/v1/keys/${id}`, undefined],
      ['PATCH', `/v1/keys/${id}`, { scopes: ['pets:read'] }],
      ['PATCH', `/v1/keys/${id}`, { expiresAt: '2099-01-01T00:00:00Z' }],
      ['PATCH', path, { disabled: true }],
    ] as const) {
      expectError(await app.send(method, target, body && { body }), 409, 'last_admin_key');
    }
    expect((await app.get('/v1/audit')).json).toEqual(before);
    await app.createKey();
    const change = (body: object) => app.send('PATCH', `/v1/keys/${id}`, { body });
    for (const expiresAt of ['2099-01-01T00:00:00Z', '2098-01-01T01:00:00+01:00', null])
      expect((await change({ expiresAt })).status).toBe(200);
    expect((await app.send('DELETE', `/v1/keys/${id}`)).status).toBe(200);
  });

  it('lasts for a day, although each of two keys got an earlier expiry', async () => {
    const { id } = await app.createKey();
    const { id: own } = (await app.get('/v1/key')).json;
    const expiresAt = new Date(app.clock.now() + 60_000).toISOString();
    const shorten = (key: string) => app.send('PATCH', `/v1/keys/${key}`, { body: { expiresAt } });
    expect((await shorten(id)).status).toBe(200);
    expectError(await shorten(own), 409, 'last_admin_key');
    expectError(await app.send('DELETE', `/v1/keys/${own}`), 409, 'last_admin_key');
  });

  const [ELSEWHERE, YOURS] = [['192.0.2.0/24', '2001:db8::/32'], 'addresses must include yours, 127.0.0.1.'];

  it.each([
    ['other addresses', { addresses: ELSEWHERE }, 400, YOURS],
    ['fewer scopes', { scopes: ['pets:read'] }, 200, undefined],
    ['a revocation', undefined, 200, undefined],
  ])('rejects %s if no other key works from its address', async (_case, body, status, message) => {
    const other = await app.createKey({ addresses: ['198.51.100.0/24'] });
    const { id } = (await app.get('/v1/key')).json;
    const change = () => app.send(body ? 'PATCH' : 'DELETE', `/v1/keys/${id}`, body && { body });
    expectError(await change(), 409, 'last_admin_key');
    const addresses = ['198.51.100.0/24', '127.0.0.0/8'];
    expect((await app.send('PATCH', `/v1/keys/${other.id}`, { body: { addresses } })).status).toBe(200);
    expect(await change()).toMatchObject({ status, json: message === undefined ? {} : { message } });
  });

  it('may get addresses that include its own, in any form; other keys may get all', async () => {
    const { id } = (await app.get('/v1/key')).json;
    const other = await app.createKey();
    for (const [key, addresses] of [
      [id, ['127.0.0.1']],
      [id, ['192.0.2.1', '::ffff:127.0.0.0/104']],
      [id, []],
      [other.id, ['192.0.2.1']],
    ] as const) {
      expect((await app.send('PATCH', `/v1/keys/${key}`, { body: { addresses } })).status).toBe(200);
    }
  });

  it('can be limited by the command line, and then changes nothing from elsewhere', async () => {
    const { id } = (await app.get('/v1/key')).json;
    const command = ['keys', 'set-addresses', id, '--addresses', '192.0.2.1'];
    expect(await runCli(command, { DATABASE_URL: app.database.url })).toMatchObject({ status: 0 });
    expectError(await app.post('/v1/accounts', { name: 'mine' }), 403, 'address_not_allowed');
  });

  it('remains if two keys revoke each other concurrently', async () => {
    const other = await app.createKey();
    // The instance knows both keys, so that the rejected one gets no 401.
    await app.get('/v1/key', { key: other.key });
    const { id } = (await app.get('/v1/key')).json;
    const statuses = await Promise.all([
      app.send('DELETE', `/v1/keys/${other.id}`).then(({ status }) => status),
      app.send('DELETE', `/v1/keys/${id}`, { key: other.key }).then(({ status }) => status),
    ]);
    expect(statuses.toSorted()).toEqual([200, 403]);
    expect(await admins()).toHaveLength(1);
  });

  it('a revoked key that an instance still knows can read, and changes nothing', async () => {
    const { id, key } = await app.createKey();
    expect((await app.get('/v1/accounts', { key })).status).toBe(200);
    await app.send('DELETE', `/v1/keys/${id}`);
    expect((await app.get('/v1/accounts', { key })).status).toBe(200);
    expectError(await app.post('/v1/accounts', { name: 'mine' }, { key }), 403, 'insufficient_scope');
    expect((await app.get('/v1/accounts')).json).not.toContainEqual(
      expect.objectContaining({ name: 'mine' }),
    );
  });
});
