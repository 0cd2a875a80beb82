import { DEFAULT_SCOPES } from '../../src/app/store';
import { migrations } from '../support/schema-config';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { send } from '../support/http';

describe('the command line while the service runs', () => {
  let service: TestApp;
  beforeAll(async () => {
    service = await startApp();
    catchUp();
  });
  afterAll(() => service.close());

  /** Sets the clock of the service to the system clock, which the commands use. */
  const catchUp = () => service.clock.advance({ seconds: (Date.now() - service.clock.now()) / 1_000 });
  const cli = (...args: string[]) => runCli(args, { DATABASE_URL: service.database.url });

  it('keys create makes a key that works immediately, and prints exactly the promised JSON', async () => {
    const { status, all, json } = await cli('keys', 'create', '--account', 'acme', '--json');
    expect(status).toBe(0);
    expect(all.trim().split('\n')).toHaveLength(1);
    expect(json()).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^ask_test_[0-9A-Za-z]{36}$/),
      account: 'acme',
      plan: 'free',
      scopes: DEFAULT_SCOPES,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const days = (Date.parse(json().expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364.9);
    expect(days).toBeLessThan(365.1);
    expect((await send(service.url, 'GET', '/v1/pets', { key: json().key })).status).toBe(200);
  });

  it('keys create accepts plan, numbers, scopes, expiry and label; no list shows the secret', async () => {
    const { json } = await cli(
      'keys',
      'create',
      '--account',
      'big',
      '--plan',
      'enterprise',
      '--per-minute',
      '5',
      '--per-day',
      '50',
      '--scopes',
      'pets:read',
      '--expires',
      'never',
      '--label',
      'shop window',
      '--json',
    );
    expect(json()).toMatchObject({
      account: 'big',
      plan: 'enterprise',
      scopes: ['pets:read'],
      expiresAt: null,
    });
    const list = await cli('keys', 'list', '--account', 'big', '--json');
    expect(list.json()).toEqual([
      {
        id: json().id,
        account: 'big',
        label: 'shop window',
        prefix: 'ask_test_',
        lastFour: json().key.slice(-4),
        scopes: ['pets:read'],
        createdAt: expect.any(String),
        expiresAt: null,
        revokedAt: null,
        bannedUntil: null,
        lastUsedAt: null,
      },
    ]);
    const table = await cli('keys', 'list');
    expect(table.out).toContain('shop window');
    expect(table.out + list.out).not.toContain(json().key.slice(0, -4));
    const accounts = await cli('accounts', 'list', '--json');
    expect(accounts.json()).toContainEqual({
      account: 'big',
      plan: 'enterprise',
      perMinute: 5,
      perDay: 50,
      createdAt: expect.any(String),
    });
    const { status } = await send(service.url, 'POST', '/v1/pets', {
      key: json().key,
      body: { name: 'Rex', categoryId: 1 },
    });
    expect(status).toBe(403);
  });

  it('keys list shows every fact of a key below its own heading', async () => {
    const { json } = await cli('keys', 'create', '--account', 'known', '--scopes', 'pets:read', '--json');
    const { id, key } = json();
    await service.database.query(
      `UPDATE api_keys SET label = 'till 1', created_at = '2026-01-01T01:01Z', expires_at = '2126-02-02T02:02Z',
         revoked_at = '2026-03-03T03:03Z', banned_at = '2026-04-03Z', banned_until = '2126-04-04T04:04Z',
         last_used_at = '2026-05-05T05:05Z'
       WHERE id = $1`,
      [id],
    );
    const { out } = await cli('keys', 'list', '--account', 'known');
    const [headings, row] = out.split('\n').map((line) => line.split(/ {2,}/));
    expect(headings?.map((heading, at) => `${heading}: ${row?.[at]}`).join('; ')).toBe(
      `ID: ${id}; ACCOUNT: known; LABEL: till 1; KEY: ask_test_…${key.slice(-4)}; SCOPES: pets:read; ` +
        'CREATED: 2026-01-01T01:01Z; EXPIRES: 2126-02-02T02:02Z; REVOKED: 2026-03-03T03:03Z; ' +
        'BANNED UNTIL: 2126-04-04T04:04Z; LAST USED: 2026-05-05T05:05Z',
    );
  });

  it('keys create adds a key to an existing account; another plan or other numbers exit with 1', async () => {
    expect((await cli('keys', 'create', '--account', 'pro', '--plan', 'pro')).status).toBe(0);
    expect((await cli('keys', 'create', '--account', 'pro', '--json')).json().plan).toBe('pro');
    expect((await cli('keys', 'create', '--account', 'pro', '--plan', 'pro')).status).toBe(0);
    const rejected = await cli('keys', 'create', '--account', 'pro', '--plan', 'business', '--json');
    expect(rejected).toMatchObject({ status: 1, out: '' });
    expect(rejected.all.trim().split('\n')).toHaveLength(1);
    expect((await cli('keys', 'list', '--account', 'pro', '--json')).json()).toHaveLength(3);
    const numbered = (perMinute: string, perDay: string) => {
      const plan = ['--plan', 'enterprise', '--per-minute', perMinute, '--per-day', perDay];
      return cli('keys', 'create', '--account', 'numbered', ...plan);
    };
    const statuses: unknown[] = [];
    for (const perDay of ['50', '50', '51']) statuses.push((await numbered('5', perDay)).status);
    expect([...statuses, (await numbered('6', '50')).status]).toEqual([0, 0, 1, 1]);
  });

  it('keys revoke revokes a key, also twice; an unknown id exits with 1', async () => {
    const { id, key } = (await cli('keys', 'create', '--account', 'gone', '--json')).json();
    expect((await cli('keys', 'revoke', id)).status).toBe(0);
    expect((await send(service.url, 'GET', '/v1/pets', { key })).json.code).toBe('revoked_api_key');
    const revokedAt = async () =>
      (await cli('keys', 'list', '--account', 'gone', '--json')).json()[0].revokedAt as string;
    const first = await revokedAt();
    expect((await cli('keys', 'revoke', id)).status).toBe(0);
    expect(await revokedAt()).toBe(first);
    expect((await cli('keys', 'revoke', '00000000-0000-4000-8000-000000000000')).status).toBe(1);
    expect(await cli('keys', 'revoke', "1' or true")).toMatchObject({
      status: 1,
      all: "There is no key with the id 1' or true.\n",
    });
  });

  it('keys set-scopes replaces the scopes of a key; an unknown key exits with 1', async () => {
    const { id, key } = (await cli('keys', 'create', '--account', 'scoped', '--json')).json();
    const { status, all } = await cli(
      'keys',
      'set-scopes',
      id,
      '--scopes',
      'pets:read,orders:read',
      '--json',
    );
    expect({ status, json: JSON.parse(all) }).toEqual({
      status: 0,
      json: { id, scopes: ['pets:read', 'orders:read'] },
    });
    const adding = { key, body: { name: 'Rex', categoryId: 1 } };
    expect((await send(service.url, 'POST', '/v1/pets', adding)).status).toBe(403);
    expect((await send(service.url, 'GET', '/v1/pets', { key })).status).toBe(200);
    const unknown = '00000000-0000-4000-8000-000000000000';
    expect(await cli('keys', 'set-scopes', unknown, '--scopes', 'pets:read')).toMatchObject({
      status: 1,
      all: `There is no key with the id ${unknown}.\n`,
    });
  });

  it('keys rotate prints a new secret, which works immediately; the old one works until the grace period ends', async () => {
    // The requests below would exceed a smaller plan, and ban the key.
    const business = ['--account', 'turns', '--plan', 'business'];
    const created = (await cli('keys', 'create', ...business, '--json')).json();
    const { status, all, json } = await cli('keys', 'rotate', created.id, '--json');
    expect(status).toBe(0);
    expect(all.trim().split('\n')).toHaveLength(1);
    const { key, graceEndsAt } = json();
    expect(json()).toEqual({ ...created, key, graceEndsAt });
    const hours = (Date.parse(graceEndsAt) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
    const codeOf = async (secret: string) =>
      (await send(service.url, 'GET', '/v1/pets', { key: secret })).json.code;
    expect([await codeOf(created.key), await codeOf(key)]).toEqual([undefined, undefined]);

    const text = await cli('keys', 'rotate', created.id, '--grace', '0');
    const [newest] = /ask_test_\w{36}/.exec(text.out)!;
    catchUp();
    service.clock.advance({ seconds: 5 });
    expect([await codeOf(created.key), await codeOf(key)]).toEqual(['revoked_api_key', 'revoked_api_key']);
    expect(await codeOf(newest)).toBeUndefined();
    const [listed] = (await cli('keys', 'list', '--account', 'turns', '--json')).json();
    expect(listed).toMatchObject({ id: created.id, lastFour: newest.slice(-4) });
  });

  it('keys rotate of a revoked or an unknown key exits with 1', async () => {
    const { id } = (await cli('keys', 'create', '--account', 'gone', '--json')).json();
    await cli('keys', 'revoke', id);
    for (const each of [id, '00000000-0000-4000-8000-000000000000']) {
      const rejected = await cli('keys', 'rotate', each, '--json');
      expect(rejected).toMatchObject({ status: 1, out: '' });
      expect(rejected.all.trim().split('\n')).toHaveLength(1);
    }
  });

  it('accounts set-plan changes the plan, for Enterprise with its numbers; an unknown account exits with 1', async () => {
    await cli('keys', 'create', '--account', 'grows');
    const limits = async () => {
      const accounts: { account: string }[] = (await cli('accounts', 'list', '--json')).json();
      return accounts.find(({ account }) => account === 'grows');
    };
    expect(await limits()).toMatchObject({ plan: 'free', perMinute: 60, perDay: 1_000 });
    expect((await cli('accounts', 'set-plan', 'grows', '--plan', 'pro')).status).toBe(0);
    expect(await limits()).toMatchObject({ plan: 'pro', perMinute: 300, perDay: 10_000 });
    const custom = ['--plan', 'enterprise', '--per-minute', '5', '--per-day', '50'];
    expect((await cli('accounts', 'set-plan', 'grows', ...custom)).status).toBe(0);
    expect(await limits()).toMatchObject({ plan: 'enterprise', perMinute: 5, perDay: 50 });
    expect((await cli('accounts', 'set-plan', 'grows', '--plan', 'business')).status).toBe(0);
    expect(await limits()).toMatchObject({ plan: 'business', perMinute: 1_000, perDay: 100_000 });
    expect((await cli('accounts', 'set-plan', 'unknown', '--plan', 'pro')).status).toBe(1);
  });

  it('accounts list sorts accounts by name', async () => {
    for (const account of ['zebra', 'ants']) await service.createKey({ account });
    const accounts: { account: string }[] = (await cli('accounts', 'list', '--json')).json();
    const names = accounts.map(({ account }) => account);
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining(['ants', 'zebra']));
  });

  it('keys unban prints that the ban is lifted; an unknown key exits with 1', async () => {
    const { id } = (await cli('keys', 'create', '--account', 'forgiven', '--json')).json();
    expect(await cli('keys', 'unban', id)).toMatchObject({
      status: 0,
      out: `Ban of ${id} lifted; takes effect within 5 s.\n`,
    });
    expect((await cli('keys', 'unban', '00000000-0000-4000-8000-000000000000')).status).toBe(1);
  });

  it('db status and db migrate work while the service runs', async () => {
    const status = await cli('db', 'status');
    expect(status.out.trim().split('\n')).toEqual(migrations.map(({ name }) => `applied  ${name}`));
    expect(await cli('db', 'migrate')).toMatchObject({ status: 0, out: 'The schema is up to date.\n' });
  });
});
