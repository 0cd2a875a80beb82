import { userInfo } from 'node:os';
import { createDatabase, type TestDatabase } from '../support/database';
import { runCli } from '../support/cli';

interface Entry {
  readonly at: string;
  readonly command: string;
  readonly account: string | null;
  readonly keyId: string | null;
  readonly details: string;
  readonly osUser: string;
}

describe('audit list', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase(undefined);
  });
  afterAll(() => database.drop());

  const cli = (...args: string[]) => runCli(args, { DATABASE_URL: database.directUrl });
  const entries = async () => (await cli('audit', 'list', '--json')).json() as readonly Entry[];

  it('has one entry for each administrative change, with account, key, time and user', async () => {
    const { id } = (await cli('keys', 'create', '--account', 'acme', '--json')).json();
    const commands = [
      ['accounts', 'set-plan', 'acme', '--plan', 'pro'],
      ['keys', 'set-scopes', id, '--scopes', 'pets:read'],
      ['keys', 'rotate', id, '--grace', '0'],
      ['keys', 'unban', id],
      ['keys', 'revoke', id],
    ];
    for (const command of commands) expect((await cli(...command)).status).toBe(0);
    const found = await entries();
    expect(found.map(({ command, account, keyId }) => [command, account, keyId])).toEqual([
      ['migrate', null, null],
      ['keys create', 'acme', id],
      ['accounts set-plan', 'acme', null],
      ['keys set-scopes', 'acme', id],
      ['keys rotate', 'acme', id],
      ['keys unban', 'acme', id],
      ['keys revoke', 'acme', id],
    ]);
    expect(found[2]!.details).toBe('plan pro, 300 a minute, 10000 a day');
    expect(found[3]!.details).toBe('scopes pets:read');
    for (const { osUser, at } of found) {
      expect(osUser).toBe(userInfo().username);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    const { out } = await cli('audit', 'list');
    expect(out.split('\n')[0]).toMatch(/^AT +USER +COMMAND +ACCOUNT +KEY +DETAILS$/);
    expect(out).not.toContain('ask_');
  });

  it('has no entry for a command that failed, or that changes nothing', async () => {
    const before = await entries();
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const command of ['revoke', 'unban', 'rotate']) {
      expect((await cli('keys', command, unknown)).status).toBe(1);
    }
    expect((await cli('keys', 'list')).status).toBe(0);
    expect((await cli('accounts', 'set-plan', 'nobody', '--plan', 'pro')).status).toBe(1);
    expect(await entries()).toEqual(before);
  });

  it.each(['UPDATE audit_entries SET command = command', 'DELETE FROM audit_entries'])(
    'is append-only: the database rejects %s',
    async (statement) => {
      await expect(database.query(statement)).rejects.toThrow('audit_entries is append-only');
    },
  );

  it('records the revert of a migration, unless that removes the entries', async () => {
    const before = await entries();
    expect((await cli('db', 'revert')).out).toContain('Reverted Audit');
    expect((await cli('db', 'migrate')).status).toBe(0);
    expect(await entries()).toHaveLength(1);
    expect(before.length).toBeGreaterThan(1);
  });
});
