import { userInfo } from 'node:os';
import { createDemoKey } from '../../src/app/banner';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';

const BUYER = ['pets:read', 'pets:write', 'orders:read', 'orders:write'];
const STAFF = ['pets:manage', 'orders:manage'];
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('keys and accounts of the command line while the service runs', () => {
  let service: TestApp;
  beforeAll(async () => {
    service = await startApp();
  });
  beforeEach(() => catchUp());
  afterAll(() => service.close());

  /** Sets the clock of the service to the system clock, which the commands use: back only before a test, for the cache. */
  const catchUp = () => service.clock.advance({ seconds: (Date.now() - service.clock.now()) / 1_000 });
  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: service.database.url });
  const json = async (command: string) => (await cli(`${command} --json`)).json();
  const statusesOf = async (...commands: string[]) => {
    const statuses: number[] = [];
    for (const command of commands) statuses.push((await cli(command)).status);
    return statuses;
  };
  /** The code of the Error body; undefined if the request succeeds. */
  const codeOf = async (key: string, method = 'GET', path = '/v1/pets') =>
    (await service.send(method, path, { key })).json.code as string | undefined;
  const removal = (key: string) => codeOf(key, 'DELETE', '/v1/pets/4711');

  it('keys create makes a key that works immediately, and prints exactly the promised JSON', async () => {
    const { status, all, ...run } = await cli('keys create --account acme --json');
    const created = run.json();
    expect(status).toBe(0);
    expect(all.trim().split('\n')).toHaveLength(1);
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^ask_test_[0-9A-Za-z]{36}$/),
      account: 'acme',
      plan: 'free',
      scopes: BUYER,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const days = (Date.parse(created.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364.9);
    expect(days).toBeLessThan(365.1);
    expect([await codeOf(created.key), await removal(created.key)]).toEqual([
      undefined,
      'insufficient_scope',
    ]);
  });

  it('keys create accepts plan, numbers, scopes, expiry and label; no list shows the secret', async () => {
    const { id, key, ...created } = await json(
      'keys create --account big --plan enterprise --per-minute 5 --per-day 50 --scopes pets:read --expires never --label till',
    );
    expect(created).toEqual({ account: 'big', plan: 'enterprise', scopes: ['pets:read'], expiresAt: null });
    const never = { expiresAt: null, revokedAt: null, bannedUntil: null, lastUsedAt: null };
    const list = await json('keys list --account big');
    expect(list).toEqual([
      {
        id,
        account: 'big',
        label: 'till',
        prefix: 'ask_test_',
        lastFour: key.slice(-4),
        scopes: ['pets:read'],
        addresses: [],
        createdAt: expect.any(String),
        ...never,
      },
    ]);
    const table = (await cli('keys list')).out;
    expect(table).toContain('till');
    expect(table + JSON.stringify(list)).not.toContain(key.slice(0, -4));
    expect(await json('accounts list')).toContainEqual({
      account: 'big',
      plan: 'enterprise',
      perMinute: 5,
      perDay: 50,
      createdAt: expect.any(String),
      disabledAt: null,
    });
    expect(await codeOf(key, 'POST')).toBe('insufficient_scope');
  });

  it('keys list shows every fact of a key at its own heading', async () => {
    const { id, key } = await json('keys create --account known --scopes pets:read');
    await service.database.query(
      `UPDATE api_keys SET label = 'till 1', created_at = '2026-01-01T01:01Z', expires_at = '2126-02-02T02:02Z',
         revoked_at = '2026-03-03T03:03Z', last_used_at = '2026-05-05T05:05Z'
       WHERE id = $1`,
      [id],
    );
    await service.database.query(`INSERT INTO key_bans VALUES ($1, '2126-04-04T04:04Z')`, [id]);
    const { out } = await cli('keys list --account known');
    const facts = out
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().replace(/ {2,}/, ': '));
    expect(facts.join('; ')).toBe(
      `ID: ${id}; ACCOUNT: known; LABEL: till 1; KEY: ask_test_…${key.slice(-4)}; SCOPES: pets:read; ` +
        'CREATED: 2026-01-01T01:01Z; EXPIRES: 2126-02-02T02:02Z; REVOKED: 2026-03-03T03:03Z; ' +
        'BANNED UNTIL: 2126-04-04T04:04Z; LAST USED: 2026-05-05T05:05Z',
    );
  });

  it('keys create says if the account is new; with --existing a new one exits with 1 and is not created', async () => {
    const { out } = await cli('keys create --account fresh');
    expect(out).toMatch(/^New account fresh \(plan free\)\.\nAPI key of the account fresh/);
    const again = await cli('keys create --account fresh --existing');
    expect(again).toMatchObject({ status: 0, out: expect.stringMatching(/^API key of the account fresh/) });
    const names = (await json('accounts list')).map(({ account }: { account: string }) => account);
    expect(names).toEqual(names.toSorted());
    expect(names).not.toContain('frehs');
  });

  it('keys create adds a key to an existing account; another plan or other numbers exit with 1', async () => {
    const numbered = 'keys create --account numbered --plan enterprise --per-minute';
    expect(
      await statusesOf(
        `${numbered} 5 --per-day 50`,
        'keys create --account numbered',
        `${numbered} 5 --per-day 50`,
        `${numbered} 5 --per-day 51`,
        `${numbered} 6 --per-day 50`,
        'keys create --account numbered --plan business --json',
      ),
    ).toEqual([0, 0, 0, 1, 1, 1]);
    expect(await json('keys list --account numbered')).toHaveLength(3);
  });

  it('keys revoke revokes a key; twice it says so and keeps the first time', async () => {
    const { id, key } = await json('keys create --account gone');
    const revokedAt = async () => (await json('keys list --account gone'))[0].revokedAt as string;
    expect(await json(`keys revoke ${id} --yes`)).toEqual({ id, revoked: true });
    expect(await codeOf(key)).toBe('revoked_api_key');
    const first = await revokedAt();
    expect((await cli(`keys revoke ${id} --yes`)).out).toBe(`The key ${id} was revoked before.\n`);
    expect(await revokedAt()).toBe(first);
    expect(await statusesOf(`keys rotate ${id} --json`)).toEqual([1]);
  });

  it('keys rotate prints a new secret of the same key, and when the old one ends: after 24 h, or as --grace says', async () => {
    const created = await json('keys create --account turns');
    const { key, graceEndsAt, ...same } = await json(`keys rotate ${created.id}`);
    expect({ ...same, key: created.key }).toEqual(created);
    expect(Math.round((Date.parse(graceEndsAt) - Date.now()) / 60_000)).toBe(24 * 60);
    expect([await codeOf(created.key), await codeOf(key)]).toEqual([undefined, undefined]);
    expect((await cli(`keys rotate ${created.id} --grace 0`)).out).toMatch(/ask_test_\w{36}/);
  });

  it.each([
    ['There is no account named nobody: list the accounts.', 'keys list --account nobody'],
    ['There is no account named nobody: list the accounts.', 'audit list --account nobody'],
    ['There is no account named nobody: list the accounts.', 'keys create --account nobody --existing'],
    ['There is no account named nobody: list the accounts.', 'accounts set-plan nobody --plan pro'],
    ['There is no account named nobody: list the accounts.', 'accounts disable nobody'],
    ['There is no account named nobody: list the accounts.', 'accounts enable nobody'],
    [`There is no key with the id ${UNKNOWN}: list the keys.`, `keys revoke ${UNKNOWN} --yes`],
    [`There is no key with the id 1'or': list the keys.`, `keys revoke 1'or' --yes`],
    [`There is no key with the id ${UNKNOWN}: list the keys.`, `keys unban ${UNKNOWN}`],
    [`There is no key with the id ${UNKNOWN}: list the keys.`, `keys rotate ${UNKNOWN}`],
    [
      `There is no key with the id ${UNKNOWN}: list the keys.`,
      `keys set-scopes ${UNKNOWN} --scopes pets:read`,
    ],
  ])('exits with 1 and "%s" after %s', async (sentence, command) => {
    expect(await cli(command)).toMatchObject({ status: 1, out: '', all: `${sentence}\n` });
  });

  it('audit list has the user of each change, and no entry of a command that changes nothing', async () => {
    const { id } = await json('keys create --account audited');
    await service.database.query(`INSERT INTO key_bans VALUES ($1, now() + interval '1 h')`, [id]);
    const unban = () => cli(`keys unban ${id}`);
    expect((await unban()).out).toBe(`Ban of ${id} lifted; takes effect within 5 s.\n`);
    expect(await unban()).toMatchObject({ status: 0, out: `The key ${id} is not banned.\n` });
    const changes = [`keys revoke ${id} --yes`, 'accounts disable audited', 'accounts enable audited'];
    const twice = changes.flatMap((change) => [change, change]);
    expect(await statusesOf(...twice)).toEqual(twice.map(() => 0));
    const entries = (await json('audit list')) as Record<string, string>[];
    expect(entries[0]).toMatchObject({ command: 'migrate', account: null, keyId: null });
    expect(entries.slice(-5).map(({ command, account }) => [command, account])).toEqual(
      ['keys create', 'keys unban', 'keys revoke', 'accounts disable', 'accounts enable'].map((command) => [
        command,
        'audited',
      ]),
    );
    for (const { osUser, at = '' } of entries) {
      expect(osUser).toBe(userInfo().username);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    expect((await cli('audit list')).out).not.toContain('ask_');
    for (const change of ['UPDATE audit_entries SET command = command', 'DELETE FROM audit_entries']) {
      await expect(service.database.query(change)).rejects.toThrow('audit_entries is append-only');
    }
  });

  it('accounts disable and enable say what they have changed', async () => {
    await cli('keys create --account paused');
    expect(await json('accounts disable paused')).toEqual({ account: 'paused', disabled: true });
    expect((await cli('accounts disable paused')).out).toBe('The account paused was disabled before.\n');
    expect((await cli('keys create --account paused')).all).toMatch(
      /^The account paused is disabled: .*\.\n$/,
    );
    expect((await cli('accounts enable paused')).out).toMatch(/^The account paused is now enabled/);
  });

  it('of concurrent changes that disable an account only one is in the audit', async () => {
    await service.createKey({ account: 'twice' });
    const change = () => service.send('PATCH', '/v1/accounts/twice', { body: { disabled: true } });
    await Promise.all([1, 2, 3, 4].map(change));
    const entries = (await json('audit list --account twice')) as { command: string }[];
    expect(entries.map(({ command }) => command)).toEqual(['keys create', 'accounts disable']);
  });

  it('the demo key of a first start has the scopes of buyers and staff', async () => {
    await service.database.truncate('accounts CASCADE');
    const key = await createDemoKey(service.nest, readConfig({}), createStore());
    const [demo] = await json('keys list --account demo');
    expect(demo.scopes.toSorted()).toEqual([...BUYER, ...STAFF, 'events:read', 'webhooks:manage'].toSorted());
    expect(await removal(String(key))).toBe('pet_not_found');
  });
});
