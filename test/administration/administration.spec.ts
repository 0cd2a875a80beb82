import { randomUUID } from 'node:crypto';
import { createStore } from '../../src/app/store';
import type { AuditEntry } from '../../src/administration/administration.dto';
import type { KeyUsage } from '../../src/usage/usage.dto';
import { UsageRecorder } from '../../src/usage/usage-recorder';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';
import { linksOf } from '../support/links';

const UNKNOWN_KEY = '00000000-0000-4000-8000-000000000000';
const SCOPES = createStore().scopes;

/** The operations of administration, with a body that each accepts. */
const OPERATIONS: readonly (readonly [id: string, method: string, path: string])[] = [
  ['listAccounts', 'get', '/accounts'],
  ['createAccount', 'post', '/accounts'],
  ['getAccount', 'get', '/accounts/{account}'],
  ['updateAccount', 'patch', '/accounts/{account}'],
  ['listAudit', 'get', '/audit'],
  ['listKeys', 'get', '/accounts/{account}/keys'],
  ['createKey', 'post', '/accounts/{account}/keys'],
  ['getKeyById', 'get', '/keys/{keyId}'],
  ['updateKey', 'patch', '/keys/{keyId}'],
  ['revokeKey', 'delete', '/keys/{keyId}'],
  ['rotateKey', 'post', '/keys/{keyId}/rotate'],
  ['unbanKey', 'post', '/keys/{keyId}/unban'],
];
const BODIES: Readonly<Record<string, () => object>> = {
  createAccount: () => ({ name: randomUUID() }),
  updateAccount: () => ({ plan: 'pro' }),
  createKey: () => ({}),
  updateKey: () => ({ label: 'x' }),
  rotateKey: () => ({}),
};

describe('administration over HTTP', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
  });
  afterAll(() => app.close());

  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: app.database.url });
  const patch = (path: string, body: object, options = {}) => app.send('PATCH', path, { body, ...options });
  const remove = (path: string, options = {}) => app.send('DELETE', path, options);
  const pass = (seconds = 5) => app.clock.advance({ seconds });
  /** Creates an account and a key by HTTP. */
  async function newKey(body: object = {}, account: object = {}) {
    const { name } = (await app.post('/v1/accounts', { name: `acme ${randomUUID()}`, ...account })).json;
    const path = `/v1/accounts/${encodeURIComponent(name)}`;
    const created = await app.post(`${path}/keys`, body);
    expect(created.status).toBe(201);
    return { name: name as string, path, id: created.json.id as string, key: created.json.key as string };
  }
  const fill = (path: string, account: string, id: string) =>
    `/v1${path.replace('{account}', encodeURIComponent(account)).replace('{keyId}', id)}`;
  const auditOf = async (account: string) =>
    (await app.get(`/v1/audit?account=${encodeURIComponent(account)}&limit=100`))
      .json as readonly AuditEntry[];

  it.each(OPERATIONS)('%s is for the scope admin only, of every account', async (id, method, path) => {
    const [, param] = /\{(account|key)/.exec(path) ?? [];
    const missing = param && `${param}_not_found`;
    for (const scope of SCOPES) {
      const account = randomUUID();
      const { key } = await app.createKey({ account, scopes: [scope] });
      const own = await app.createKey({ account });
      const other = await newKey();
      const codes: string[] = [];
      for (const [name, keyId] of [
        [other.name, other.id],
        [account, own.id],
        ['missing', UNKNOWN_KEY],
        ['*', 'x%00'],
      ] as const) {
        const options = { key, ...(BODIES[id] && { body: BODIES[id]() }) };
        const { json } = await app.send(method.toUpperCase(), fill(path, name, keyId), options);
        codes.push(json.code);
      }
      const allowed = [undefined, undefined, missing, missing];
      const expected = scope === 'admin' ? allowed : allowed.map(() => 'insufficient_scope');
      expect([id, scope, ...codes]).toEqual([id, scope, ...expected]);
    }
  });

  it("serves a customer's life, with its usage exact to the request", async () => {
    const expiresAt = new Date(app.clock.now() + 86_400_000).toISOString();
    const limits = { plan: 'enterprise', perMinute: 2, perDay: 50 };
    const { name, path, id, key } = await newKey({ addresses: ['127.0.0.0/8'], expiresAt }, limits);
    const codes: (string | undefined)[] = [];
    const use = async (secret = key) => {
      const { code } = (await app.get('/v1/pets', { key: secret })).json;
      codes.push(code);
      return code;
    };
    expect([await use(), await use(), await use()]).toEqual([undefined, undefined, 'rate_limit_exceeded']);
    const account = (await patch(path, { perMinute: 100 })).json;
    expect(account).toMatchObject({ name, plan: 'enterprise', perMinute: 100, perDay: 50, disabledAt: null });
    pass();
    expect(await use()).toBeUndefined();
    const rotated = (await app.post(`/v1/keys/${id}/rotate`, { graceSeconds: 60 })).json;
    expect(rotated).toMatchObject({
      id,
      expiresAt,
      graceEndsAt: new Date(app.clock.now() + 60_000).toISOString(),
    });
    expect([await use(), await use(rotated.key)]).toEqual([undefined, undefined]);
    pass(61);
    expect([await use(), await use(rotated.key)]).toEqual(['revoked_api_key', undefined]);
    await patch(path, { disabled: true });
    pass();
    expect(await use(rotated.key)).toBe('invalid_api_key');
    expectError(await app.post(`${path}/keys`, {}), 409, 'account_disabled');
    await patch(path, { disabled: false });
    const revoked = await remove(`/v1/keys/${id}`);
    expect(revoked.json).toMatchObject({ id, revokedAt: expect.any(String) });
    // The last use is written each second.
    const { lastUsedAt: _, ...kept } = revoked.json;
    pass();
    expect(await use(rotated.key)).toBe('revoked_api_key');
    for (const body of [{}, undefined, ''])
      expectError(await app.post(`/v1/keys/${id}/rotate`, body), 409, 'key_not_usable');
    expectError(await app.post(`/v1/keys/${id}/rotate`, 'null'), 400, 'validation_failed');
    expect((await app.get(`/v1/keys/${id}`)).json).toMatchObject(kept);
    await app.nest.get(UsageRecorder, { strict: false }).run();
    const days = (await app.get(`/v1/usage?account=${encodeURIComponent(name)}`)).json as readonly KeyUsage[];
    const kinds = ['admitted', 'rejected', 'failed', 'errors'] as const;
    // The service does not know the account of a secret that it rejects.
    expect(kinds.map((kind) => days.reduce((sum, day) => sum + day[kind], 0))).toEqual([
      codes.filter((code) => code === undefined).length,
      codes.filter((code) => code === 'rate_limit_exceeded').length,
      0,
      0,
    ]);
    expect(new Set(days.map(({ keyId }) => keyId))).toEqual(new Set([id]));
    const entries = await auditOf(name);
    const own = (await app.get('/v1/key')).json.id;
    expect(new Set(entries.map(({ madeByKey, osUser }) => `${madeByKey} ${osUser}`))).toEqual(
      new Set([`${own} null`]),
    );
    expect(entries.map(({ command }) => command)).toEqual([
      'accounts create',
      'keys create',
      'accounts set-plan',
      'keys rotate',
      'accounts disable',
      'accounts enable',
      'keys revoke',
    ]);
    expect((await cli(`audit list --json`)).json().at(-1)).toMatchObject({ osUser: null, madeByKey: own });
    expect((await cli('audit list')).out).toContain(`key ${own}`);
  });

  it('gives a new key the scopes of a buyer and 365 days, never the scope admin by default', async () => {
    const { id } = await newKey();
    const { scopes, expiresAt, addresses } = (await app.get(`/v1/keys/${id}`)).json;
    expect(scopes).toEqual(['pets:read', 'pets:write', 'orders:read', 'orders:write']);
    expect([addresses, Date.parse(expiresAt) - app.clock.now()]).toEqual([[], 365 * 86_400_000]);
  });

  it('lists accounts, the keys of an account and the audit by Link, without a secret', async () => {
    const { name, path } = await newKey();
    for (let at = 0; at < 4; at += 1) await app.post(`${path}/keys`, { label: `${at}` });
    const follow = async (first: string) => {
      const seen: { readonly id: string; readonly name: string }[] = [];
      for (let next: string | undefined = first; next !== undefined;) {
        const page = await app.get(next);
        expect(page.status).toBe(200);
        seen.push(...page.json);
        next = linksOf(page)['next'];
      }
      return seen;
    };
    const stored = await app.database.query<any>(
      'SELECT k.id FROM api_keys k JOIN accounts a ON a.id = account_id WHERE name = $1 ORDER BY number',
      [name],
    );
    const keys = await follow(`${path}/keys?limit=2`);
    expect(keys.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    expect((await follow(`${path}/keys?limit=2&sort=-id`)).map(({ id }) => id)).toEqual(
      stored.map(({ id }) => id).toReversed(),
    );
    expect(JSON.stringify(keys)).not.toMatch(/ask_test_\w/);
    const names = await app.database.query<any>('SELECT name FROM accounts ORDER BY id');
    expect((await follow('/v1/accounts?limit=7')).map((each) => each.name)).toEqual(
      names.map((each) => each.name),
    );
    expect(await follow(`/v1/audit?limit=2&account=${encodeURIComponent(name)}`)).toEqual(
      await auditOf(name),
    );
    expect((await app.get('/v1/audit?account=missing')).json).toEqual([]);
    expectError(await app.get(`${path}/keys?cursor=x`), 400, 'invalid_cursor');
  });

  it('obeys If-Match and If-None-Match', async () => {
    const { path, id } = await newKey();
    for (const [target, change, other, again] of [
      [path, { disabled: true }, { disabled: false }, 304],
      // `lastUsedAt` is not part of its tag, so the tag serves changes only.
      [`/v1/keys/${id}`, { label: 'till' }, { label: 'shop' }, 200],
    ] as const) {
      const { etag } = (await app.get(target)).headers;
      const headers = { 'if-match': String(etag) };
      expect((await app.get(target, { headers: { 'if-none-match': String(etag) } })).status).toBe(again);
      // The second response is that of a client that has lost the first one.
      expect((await patch(target, change, { headers })).status).toBe(200);
      expect((await patch(target, change, { headers })).status).toBe(200);
      expectError(await patch(target, other, { headers }), 412, 'precondition_failed');
    }
    expectError(
      await remove(`/v1/keys/${id}`, { headers: { 'if-match': '"x"' } }),
      412,
      'precondition_failed',
    );
    expect((await app.get(`/v1/keys/${id}`)).json.revokedAt).toBeNull();
  });

  it('rejects unknown scopes, times that have passed, limits that the plan does not have, and a known name', async () => {
    const { name, path, id } = await newKey();
    const entries = (await auditOf(name)).length;
    expectError(await app.post(`${path}/keys`, { scopes: ['pets:fly'] }), 400, 'validation_failed');
    expectError(await patch(`/v1/keys/${id}`, { scopes: ['pets:fly'] }), 400, 'validation_failed');
    expectError(await patch(`/v1/keys/${id}`, { scopes: [] }), 400, 'validation_failed');
    const expiresAt = new Date(app.clock.now()).toISOString();
    expectError(await app.post(`${path}/keys`, { expiresAt }), 400, 'validation_failed');
    expectError(await patch(path, { perDay: 5, disabled: true }), 409, 'plan_conflict');
    expectError(await app.post('/v1/accounts', { name }), 409, 'account_exists');
    for (const each of ['*', '.', '..', ' ', 'a\nb']) {
      const response = await app.post('/v1/accounts', { name: each });
      expectError(response, 400, 'validation_failed');
    }
    expect(await auditOf(name)).toHaveLength(entries);
    expect((await app.get(path)).json).toMatchObject({ plan: 'free', disabledAt: null });
  });
});
