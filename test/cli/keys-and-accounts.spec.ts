import { userInfo } from 'node:os';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';

const BUYER = ['pets:read', 'pets:write', 'orders:read', 'orders:write', 'events:read'];
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const PRO = { perMinute: 300, perDay: 10_000 };
const NUMBERED = 'keys create --account acme --plan enterprise --per-minute';
const HAS_PLAN =
  'The account acme already has the plan enterprise. Omit --plan and its numbers to add a key to it.\n';

const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** The output of each command, in the order of the runs; 1 is the exit status of a failure. ID is a key of acme. */
const OUTPUTS: readonly (readonly [command: string, output: unknown, status?: 1])[] = [
  ['keys create --account fresh', like(/^New account fresh \(plan free\)\.\nAPI key of the account fresh/)],
  [
    'keys create --account acme --expires never --addresses 192.0.2.0/24',
    like(/^API key of the account acme/),
  ],
  [`${NUMBERED} 5 --per-day 50`, like(/^API key of the account acme/)],
  [`${NUMBERED} 5 --per-day 51`, HAS_PLAN, 1],
  [`${NUMBERED} 6 --per-day 50`, HAS_PLAN, 1],
  ['keys create --account acme --plan business --json', HAS_PLAN, 1],
  ['accounts set-plan acme --plan pro --json', { account: 'acme', plan: 'pro', ...PRO }],
  ['keys set-scopes ID --scopes pets:read,pets:read --json', { id: 'ID', scopes: ['pets:read'] }],
  ['keys set-addresses ID --addresses 1.2.3.4 --json', { id: 'ID', addresses: ['1.2.3.4'] }],
  [
    'keys list --account acme --json',
    [
      { id: 'ID', scopes: ['pets:read'], addresses: ['1.2.3.4'] },
      { expiresAt: null, scopes: BUYER, addresses: ['192.0.2.0/24'] },
      { scopes: BUYER, addresses: [] },
    ].map((facts) => expect.objectContaining(facts)),
  ],
  ['keys unban ID', 'Ban of ID lifted; takes effect within 5 s.\n'],
  ['keys unban ID', 'The key ID is not banned.\n'],
  ['keys unban ID --json', { id: 'ID', unbanned: false }],
  ['keys rotate ID --grace 0', like(/^ {2}ask_test_\w{36}$/m)],
  ['accounts disable acme --json', { account: 'acme', disabled: true }],
  ['accounts disable acme', 'The account acme is now disabled; takes effect within 5 s.\n'],
  ['keys create --account acme', like(/^The account is disabled: .*\.\n$/), 1],
  ['accounts enable acme', 'The account acme is now enabled; takes effect within 5 s.\n'],
  ['keys revoke ID --yes --json', { id: 'ID', revoked: true }],
  ['keys revoke ID --yes', 'Revoked ID; takes effect everywhere within 5 s.\n'],
  ['keys rotate ID', 'The key was revoked or has expired: create a new key instead.\n', 1],
  ['db migrate --json', { applied: [] }],
  [
    'db status --json',
    expect.arrayContaining([{ name: 'Pets1795219200001', extension: null, state: 'applied' }]),
  ],
  ['seed --pets 2 --random-seed a --json', { pets: 2, randomSeed: 'a' }],
];
/** The entries in the audit. */
const CHANGES = [
  'keys create',
  'keys create',
  'keys create',
  'accounts set-plan',
  'keys set-scopes',
  'keys set-addresses',
  'keys unban',
  'keys rotate',
  'accounts disable',
  'accounts enable',
  'keys revoke',
];

const OF_NOBODY = [
  'keys list --account',
  'accounts set-plan --plan pro',
  'accounts disable',
  'accounts enable',
];
const OF_NO_KEY = [
  'revoke --yes',
  'unban',
  'rotate',
  'set-scopes --scopes pets:read',
  'set-addresses --addresses any',
];
const EXPIRES = { soon: '12h', later: '31d', revoked: '1d', banned: 'never' };
const LISTS = [
  ['keys list', 'soon later revoked banned'],
  ['keys list --expiring 30d', 'soon'],
  ['keys list --expiring 1h', ''],
  ['keys list --expiring 32d', 'soon later'],
  ['keys list --revoked', 'revoked'],
  ['keys list --banned', 'banned'],
  ['keys list --account later', 'later'],
  ['keys list --account later --banned', ''],
  ['audit list', 'soon later revoked banned revoked'],
];

describe('keys and accounts of the command line while the service runs', () => {
  let service: TestApp;
  beforeAll(async () => {
    service = await startApp();
    // Commands use the system clock.
    service.clock.advance({ seconds: (Date.now() - service.clock.now()) / 1_000 });
  });
  afterAll(() => service.close());

  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: service.database.url });
  const json = async (command: string) => (await cli(`${command} --json`)).json();
  const hoursTo = (time: string) => Math.round((Date.parse(time) - Date.now()) / 3_600_000);
  const ban = (id: string | undefined) =>
    service.database.query(`INSERT INTO key_bans VALUES ($1, '2126-04-04T04:04Z')`, [id]);

  it('keys create makes a key of a buyer for 365 days that works immediately, and keys rotate a secret with 24 h of grace', async () => {
    const created = await json('keys create --account new');
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^ask_test_[0-9A-Za-z]{36}$/),
      account: 'new',
      plan: 'free',
      scopes: BUYER,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(hoursTo(created.expiresAt)).toBe(365 * 24);
    const { key, graceEndsAt, ...same } = await json(`keys rotate ${created.id}`);
    expect({ ...same, key: created.key }).toEqual(created);
    expect(hoursTo(graceEndsAt)).toBe(24);
    for (const secret of [created.key, key])
      expect((await service.get('/v1/pets', { key: secret })).status).toBe(200);
  });

  it('each command prints what it has changed, with --json as one document, and only a change is in the audit, with its user', async () => {
    const { id } = await json(`${NUMBERED} 5 --per-day 50`);
    await ban(id);
    const runs = [];
    for (const [command] of OUTPUTS) {
      const { status, all } = await cli(command.replace('ID', id));
      const text = all.replaceAll(id, 'ID');
      const isDocument = command.endsWith('--json') && /^.*\n$/.test(text) && status === 0;
      runs.push([command, isDocument ? JSON.parse(text) : text, status]);
    }
    expect(runs).toEqual(OUTPUTS.map(([command, output, status = 0]) => [command, output, status]));
    const entries: Record<string, string>[] = await json('audit list');
    expect(entries[0]).toMatchObject({ command: 'migrate', account: null, keyId: null });
    const changes = entries.filter(({ account }) => account === 'acme');
    expect(changes.map(({ command }) => command)).toEqual(CHANGES);
    for (const { osUser, at = '' } of [entries[0]!, ...changes]) {
      expect(osUser).toBe(userInfo().username);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    expect((await cli('audit list')).out).not.toContain('ask_');
    for (const change of ['UPDATE audit_entries SET command = command', 'DELETE FROM audit_entries'])
      await expect(service.database.query(change)).rejects.toThrow('audit_entries is append-only');
  });

  it('of concurrent changes that disable an account only one is in the audit', async () => {
    await service.createKey({ account: 'twice' });
    const disable = () => service.send('PATCH', '/v1/accounts/twice', { body: { disabled: true } });
    await Promise.all([1, 2, 3, 4].map(disable));
    const entries: Record<string, string>[] = await json('audit list');
    const changes = entries.filter(({ account }) => account === 'twice');
    expect(changes.map(({ command }) => command)).toEqual(['keys create', 'accounts disable']);
  });

  it('the lists show the items that their options choose together', async () => {
    const ids: Record<string, string> = {};
    for (const [name, expires] of Object.entries(EXPIRES))
      ids[name] = (await json(`keys create --account ${name} --expires ${expires}`)).id;
    await cli(`keys revoke ${ids['revoked']} --yes`);
    await ban(ids['banned']);
    const listed = [];
    for (const [command = ''] of LISTS) {
      const accounts = (await json(command)).map(({ account }: { account: string }) => account);
      listed.push([command, accounts.filter((name: string) => name in EXPIRES).join(' ')]);
    }
    expect(listed).toEqual(LISTS);
    expect((await cli('keys list --account later --banned')).out).toBe('None.\n');
  });

  it('keys list shows every fact of a key at its own heading, and no secret', async () => {
    const account = 'a b'.repeat(21);
    const scopes = [...BUYER, 'pets:manage', 'orders:manage'];
    const label = 'the till next to the shop window of the second branch, left';
    const run = [
      'keys',
      'create',
      '--account',
      account,
      '--label',
      label,
      '--scopes',
      scopes.join(),
      '--json',
    ];
    const { id, key } = (await runCli(run, { DATABASE_URL: service.database.url })).json();
    await service.database.query(
      `UPDATE api_keys SET created_at = '2026-01-01T01:01Z', expires_at = '2126-02-02T02:02Z',
         revoked_at = '2026-03-03T03:03Z', last_used_at = '2026-05-05T05:05Z' WHERE id = $1`,
      [id],
    );
    await ban(id);
    const facts = {
      ID: id,
      ACCOUNT: account,
      LABEL: label,
      KEY: `ask_test_…${key.slice(-4)}`,
      SCOPES: scopes.join(', '),
      ADDRESSES: '-',
      CREATED: '2026-01-01T01:01Z',
      EXPIRES: '2126-02-02T02:02Z',
      REVOKED: '2026-03-03T03:03Z',
      'BANNED UNTIL': '2126-04-04T04:04Z',
      'LAST USED': '2026-05-05T05:05Z',
    };
    const [headings = '', ...rows] = (await cli('keys list')).out.trimEnd().split('\n');
    expect(headings.split(/ {2,}/)).toEqual(Object.keys(facts));
    const list = await json('keys list');
    expect(rows).toHaveLength(list.length);
    expect(rows.find((row) => row.startsWith(id))!.split(/ {2,}/)).toEqual(Object.values(facts));
    const [createdAt, expiresAt, revokedAt, bannedUntil, lastUsedAt] = Array(5).fill(expect.any(String));
    const times = { createdAt, expiresAt, revokedAt, bannedUntil, lastUsedAt };
    const lastFour = key.slice(-4);
    const fields = { id, account, label, prefix: 'ask_test_', lastFour, scopes, addresses: [], ...times };
    expect(list.at(-1)).toEqual(fields);

    const plan = { plan: 'free', perMinute: 60, perDay: 1_000 };
    expect(await json('accounts list')).toContainEqual({ account, ...plan, createdAt, disabledAt: null });
    expect(rows.join() + JSON.stringify(list)).not.toContain(key.slice(0, -4));
  });

  it.each([
    ...OF_NOBODY.map((command) => [
      `${command} nobody`,
      'There is no account with this name: list the accounts.',
    ]),
    ...OF_NO_KEY.map((command) => [
      `keys ${command} ${UNKNOWN}`,
      'There is no key with this id: list the keys.',
    ]),
    [`keys revoke 1'or' --yes`, 'There is no key with this id: list the keys.'],
  ])('%s: exits with 1 and "%s"', async (command, sentence) => {
    expect(await cli(command)).toMatchObject({ status: 1, out: '', all: `${sentence}\n` });
  });
});
