import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';

describe('a key with the scope admin', () => {
  let app: TestApp;
  let id: string;
  beforeEach(async () => {
    app = await startApp();
    ({ id } = (await app.get('/v1/key')).json);
  });
  afterEach(() => app.close());

  const admins = () =>
    app.database.query(`SELECT FROM api_keys WHERE 'admin' = ANY (scopes) AND revoked_at IS NULL`);

  it('cannot revoke itself, lose the scope, expire earlier, or disable its account, and another can', async () => {
    const other = await app.createKey();
    const { account } = (await app.get('/v1/key')).json;
    const { json: before } = await app.get('/v1/audit');
    const changes = [
      ['PATCH', `/v1/keys/${id}`, { expiresAt: '2099-01-01T00:00:00Z' }],
      ['PATCH', `/v1/keys/${id}`, { expiresAt: '2098-01-01T00:00:00Z' }],
      ['PATCH', `/v1/keys/${id}`, { scopes: ['pets:read'] }],
      ['PATCH', `/v1/accounts/${encodeURIComponent(account)}`, { disabled: true }],
      ['DELETE', `/v1/keys/${id}`, undefined],
    ] as const;
    for (const [method, path, body] of changes)
      expectError(await app.send(method, path, { body }), 409, 'last_admin_key');
    expect((await app.get('/v1/audit')).json).toEqual(before);
    for (const [method, path, body] of changes)
      expect((await app.send(method, path, { body, key: other.key })).status).toBe(200);
  });

  it('may expire later, lose other scopes and get another label', async () => {
    const { id: own, key } = await app.createKey({ expiresAt: new Date('2099-01-01T00:00:00Z') });
    for (const body of [
      { expiresAt: '2099-01-01T01:00:00+01:00' },
      { expiresAt: null },
      { scopes: ['admin'], label: 'till' },
    ])
      expect((await app.send('PATCH', `/v1/keys/${own}`, { key, body })).status).toBe(200);
  });

  it('can be limited by the command line, and then changes nothing from elsewhere', async () => {
    const command = ['keys', 'set-addresses', id, '--addresses', '192.0.2.1'];
    expect(await runCli(command, { DATABASE_URL: app.database.url })).toMatchObject({ status: 0 });
    expectError(await app.post('/v1/accounts', { name: 'mine' }), 403, 'address_not_allowed');
  });

  it('remains if two of them revoke each other concurrently', async () => {
    const other = await app.createKey();
    // The instance knows both keys, so that the rejected one gets no 401.
    await app.get('/v1/key', { key: other.key });
    const statuses = await Promise.all([
      app.send('DELETE', `/v1/keys/${other.id}`).then(({ status }) => status),
      app.send('DELETE', `/v1/keys/${id}`, { key: other.key }).then(({ status }) => status),
    ]);
    expect(statuses.toSorted()).toEqual([200, 403]);
    expect(await admins()).toHaveLength(1);
  });

  it('a revoked key that an instance still knows can read, and changes nothing', async () => {
    const { id: revoked, key } = await app.createKey();
    expect((await app.get('/v1/accounts', { key })).status).toBe(200);
    await app.send('DELETE', `/v1/keys/${revoked}`);
    expect((await app.get('/v1/accounts', { key })).status).toBe(200);
    expectError(await app.post('/v1/accounts', { name: 'mine' }, { key }), 403, 'insufficient_scope');
    expect((await app.get('/v1/accounts')).json).not.toContainEqual(
      expect.objectContaining({ name: 'mine' }),
    );
  });
});
