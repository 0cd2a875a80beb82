import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AuditEntry } from '../../src/auth/accounts/audit.dto';
import type { KeyUsage } from '../../src/usage/usage.dto';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';
import { linksOf } from '../support/links';

const JSON_BODY = { 'content-type': 'application/json' };

describe('administration over HTTP', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
  });
  afterAll(() => app.close());

  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: app.database.url });
  const patch = (path: string, body: object, options = {}) => app.send('PATCH', path, { body, ...options });
  const pass = (seconds = 5) => app.clock.advance({ seconds });
  /** Creates an account and a key by HTTP. */
  async function newKey(body: object = {}, account: object = {}) {
    const { json, headers } = await app.post('/v1/accounts', { name: `acme ${randomUUID()}`, ...account });
    const { name } = json;
    const path = `/v1/accounts/${encodeURIComponent(name)}`;
    const created = await app.post(`${path}/keys`, body);
    expect([headers.location, created.headers.location]).toEqual([path, `/v1/keys/${created.json.id}`]);
    return { name: name as string, path, id: created.json.id as string, key: created.json.key as string };
  }
  const auditOf = async (account: string) =>
    (await app.get(`/v1/audit?account=${encodeURIComponent(account)}&limit=100`))
      .json as readonly AuditEntry[];

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
    const headers = { 'if-match': String((await app.get(path)).headers.etag) };
    // The second response is that of a client that has lost the first one.
    for (const _ of [1, 2]) expect((await patch(path, { disabled: true }, { headers })).status).toBe(200);
    expectError(await patch(path, { disabled: false }, { headers }), 412, 'precondition_failed');
    pass();
    expect(await use(rotated.key)).toBe('invalid_api_key');
    expectError(await app.post(`${path}/keys`, {}), 409, 'account_disabled');
    await patch(path, { disabled: false });
    expect((await patch(path, { plan: 'pro' })).json).toMatchObject({ plan: 'pro', perMinute: null });
    expectError(await patch(path, { perDay: 5, disabled: true }), 409, 'plan_conflict');
    expect((await app.get(path)).json.disabledAt).toBeNull();
    const revoked = await app.send('DELETE', `/v1/keys/${id}`);
    expect(revoked.json).toMatchObject({ id, revokedAt: expect.any(String) });
    // The last use is written each second.
    const { lastUsedAt: _, ...kept } = revoked.json;
    pass();
    expect(await use(rotated.key)).toBe('revoked_api_key');
    for (const body of [{}, undefined, ''])
      expectError(await app.post(`/v1/keys/${id}/rotate`, body), 409, 'key_not_usable');
    expect((await app.get(`/v1/keys/${id}`)).json).toMatchObject(kept);
    await app.runDueWork();
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
      'accounts set-plan',
      'keys revoke',
    ]);
    expect((await cli(`audit list --json`)).json().at(-1)).toMatchObject({ osUser: null, madeByKey: own });
    expect((await cli('audit list')).out).toContain(`key ${own}`);
  });

  it('gives a new key the scopes of a buyer and 365 days, never the scope admin by default, and its old secret 24 hours', async () => {
    const { id } = await newKey();
    const { scopes, expiresAt, addresses } = (await app.get(`/v1/keys/${id}`)).json;
    expect(scopes).toEqual(['pets:read', 'pets:write', 'orders:read', 'orders:write', 'events:read']);
    expect([addresses, Date.parse(expiresAt) - app.clock.now()]).toEqual([[], 365 * 86_400_000]);
    const { graceEndsAt } = (await app.post(`/v1/keys/${id}/rotate`, undefined)).json;
    expect(Date.parse(graceEndsAt) - app.clock.now()).toBe(86_400_000);
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
    expectError(await app.get('/v1/accounts/missing/keys'), 404, 'account_not_found');
    expectError(await app.post('/v1/accounts/missing/keys', {}), 404, 'account_not_found');
  });

  it('changes the label and the expiry of a key, in force within 5 s', async () => {
    const { id, key, name } = await newKey();
    const path = `/v1/keys/${id}`;
    const use = async () => {
      pass();
      const { status, json } = await app.get('/v1/pets', { key });
      return status === 200 ? status : `${status} ${json.code}`;
    };
    expect((await patch(path, { label: 'till' })).json).toMatchObject({ label: 'till' });
    const soon = new Date(app.clock.now() + 4_000).toISOString();
    expect((await patch(path, { expiresAt: soon })).json.expiresAt).toBe(soon);
    expect(await use()).toBe('401 expired_api_key');
    expect((await patch(path, { expiresAt: null })).json.expiresAt).toBeNull();
    expect(await use()).toBe(200);
    expect((await auditOf(name)).slice(2).map(({ command, details }) => `${command} ${details}`)).toEqual([
      'keys change label till',
      `keys change expires ${soon}`,
      'keys change expires never',
    ]);
  });

  it('rejects each change by a key that was revoked or rotated or has lost the scope, although the instance still knows it', async () => {
    const ends: [end: (path: string) => Promise<unknown>, status: number, code: string][] = [
      [(path) => app.send('DELETE', path), 401, 'revoked_api_key'],
      [(path) => app.post(`${path}/rotate`, { graceSeconds: 0 }), 401, 'revoked_api_key'],
      [(path) => patch(path, { scopes: ['pets:read'] }), 403, 'insufficient_scope'],
    ];
    for (const [end, status, code] of ends) {
      const { id, key } = await app.createKey();
      const read = async () => (await app.get('/v1/accounts', { key })).status;
      expect(await read()).toBe(200);
      await end(`/v1/keys/${id}`);
      expect(await read()).toBe(200);
      expectError(await app.post('/v1/accounts', { name: 'mine' }, { key }), status, code);
    }
  });

  it('rejects the change of a key that was revoked before its body arrived', async () => {
    const { id, key } = await app.createKey();
    const body = JSON.stringify({ name: `late ${randomUUID()}` });
    const headers = { ...JSON_BODY, authorization: `Bearer ${key}`, 'content-length': body.length };
    const late = request(`${app.url}/v1/accounts`, { method: 'POST', headers });
    const response = once(late, 'response') as Promise<[IncomingMessage]>;
    await new Promise((resolve) => late.write(body.slice(0, -1), resolve));
    await app.get('/v1/key', { key });
    expect((await app.send('DELETE', `/v1/keys/${id}`)).status).toBe(200);
    late.end(body.slice(-1));
    const [{ statusCode }] = await response;
    expect(statusCode).toBe(401);
  });

  it('keeps names and labels in NFC, and finds an account in each normal form', async () => {
    const name = `Zoë ${randomUUID()}`;
    const { status, json } = await app.post('/v1/accounts', { name: name.normalize('NFD') });
    expect([status, json.name]).toEqual([201, name]);
    expectError(await app.post('/v1/accounts', { name }), 409, 'account_exists');
    const path = `/v1/accounts/${encodeURIComponent(name.normalize('NFD'))}/keys`;
    expect((await app.post(path, { label: 'Zoë'.normalize('NFD') })).json).toMatchObject({
      account: name,
      label: 'Zoë',
    });
  });

  it('accepts 64 characters as a name, no character as a label, and expiries with an offset', async () => {
    const { id } = await newKey({ expiresAt: '2099-05-31t14:00:00.000000-10:00' }, { name: '🐈'.repeat(64) });
    expect((await patch(`/v1/keys/${id}`, { label: '' })).json).toMatchObject({
      label: '',
      expiresAt: '2099-06-01T00:00:00.000Z',
    });
  });

  it('still reaches an account that an earlier version has named otherwise', async () => {
    for (const name of [' acme', 'acme\u200b', 'Zoe\u0308', 'x'.repeat(100), '\u202egnp']) {
      await app.database.query(`INSERT INTO accounts (name, plan) VALUES ($1, 'free')`, [name]);
      const { json } = await patch(`/v1/accounts/${encodeURIComponent(name)}`, { disabled: true });
      expect([json.name, json.disabledAt]).toEqual([name, expect.any(String)]);
    }
  });
});
