import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';

describe('a key with the scope admin', () => {
  let app: TestApp;
  let id: string;
  let key: string;
  beforeAll(async () => (app = await startApp()));
  beforeEach(async () => {
    ({ id, key } = await app.createKey());
    await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE id <> $1', [id]);
  });
  afterAll(() => app.close());

  const send = (method: string, path: string, body?: object, by = key) =>
    app.send(method, path, { body, key: by });
  const get = async (path: string) => (await send('GET', path)).json;

  it('cannot revoke itself, lose the scope, expire earlier, or disable its account, and another can', async () => {
    const other = await app.createKey();
    const { account } = await get('/v1/key');
    const before = await get('/v1/audit');
    const changes = [
      ['PATCH', `/v1/keys/${id}`, { expiresAt: '2099-01-01T00:00:00Z' }],
      ['PATCH', `/v1/keys/${id}`, { expiresAt: '2098-01-01T00:00:00Z' }],
      ['PATCH', `/v1/keys/${id}`, { scopes: ['pets:read'] }],
      ['PATCH', `/v1/accounts/${encodeURIComponent(account)}`, { disabled: true }],
      ['DELETE', `/v1/keys/${id}`, undefined],
    ] as const;
    for (const [method, path, body] of changes)
      expectError(await send(method, path, body), 409, 'last_admin_key');
    expect(await get('/v1/audit')).toEqual(before);
    for (const [method, path, body] of changes)
      expect((await send(method, path, body, other.key)).status).toBe(200);
  });

  it('may expire later, lose other scopes and get another label', async () => {
    const own = await app.createKey({ expiresAt: new Date('2099-01-01T00:00:00Z') });
    for (const body of [
      { expiresAt: '2099-01-01T01:00:00+01:00' },
      { expiresAt: null },
      { scopes: ['admin'], label: 'till' },
    ])
      expect((await send('PATCH', `/v1/keys/${own.id}`, body, own.key)).status).toBe(200);
  });

  it('can be limited by the command line, and then changes nothing from elsewhere', async () => {
    const command = ['keys', 'set-addresses', id, '--addresses', '192.0.2.1'];
    expect(await runCli(command, { DATABASE_URL: app.database.url })).toMatchObject({ status: 0 });
    expectError(await send('POST', '/v1/accounts', { name: 'mine' }), 403, 'address_not_allowed');
  });

  it('remains if two of them revoke each other concurrently', async () => {
    const other = await app.createKey();
    // The instance knows both keys, so that the rejected one gets no 401.
    for (const known of [key, other.key]) await app.get('/v1/key', { key: known });
    const responses = await Promise.all([
      send('DELETE', `/v1/keys/${other.id}`),
      send('DELETE', `/v1/keys/${id}`, undefined, other.key),
    ]);
    expect(responses.map(({ status }) => `${status}`).sort()).toEqual(['200', '403']);
    const admins = `SELECT FROM api_keys WHERE 'admin' = ANY (scopes) AND revoked_at IS NULL`;
    expect(await app.database.query(admins)).toHaveLength(1);
  });

  it('a revoked key that an instance still knows can read, and changes nothing', async () => {
    const revoked = await app.createKey();
    const read = async () => (await app.get('/v1/accounts', { key: revoked.key })).status;
    expect(await read()).toBe(200);
    await send('DELETE', `/v1/keys/${revoked.id}`);
    expect(await read()).toBe(200);
    expectError(await send('POST', '/v1/accounts', { name: 'mine' }, revoked.key), 403, 'insufficient_scope');
    expect(await get('/v1/accounts')).not.toContainEqual(expect.objectContaining({ name: 'mine' }));
  });
});
