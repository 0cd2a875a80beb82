import { DEFAULT_SCOPES } from '../../src/app/store';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';

const NAMES = ['soon', 'later', 'revoked', 'banned'];

describe('the lists of the command line', () => {
  let service: TestApp;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    service = await startApp();
    for (const name of NAMES) {
      const expires = { soon: '12h', later: '31d' }[name] ?? 'never';
      const { json } = await cli(`keys create --account ${name} --expires ${expires} --json`);
      ids[name] = json().id;
    }
    await cli(`keys revoke ${ids['revoked']} --yes`);
    await service.database.query(`INSERT INTO key_bans VALUES ($1, now() + interval '1 h')`, [ids['banned']]);
  });
  afterAll(() => service.close());

  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: service.database.url });
  const accountsOf = async (command: string) => {
    const listed = (await cli(`${command} --json`)).json() as { account: string }[];
    return listed.map(({ account }) => account).filter((account) => NAMES.includes(account));
  };

  it('keys list shows only the keys that --account, --expiring, --revoked and --banned choose together', async () => {
    expect(await accountsOf('keys list')).toEqual(NAMES);
    expect(await accountsOf('keys list --expiring 30d')).toEqual(['soon']);
    expect(await accountsOf('keys list --expiring 1h')).toEqual([]);
    expect(await accountsOf('keys list --expiring 32d')).toEqual(['soon', 'later']);
    await service.database.query(`UPDATE api_keys SET expires_at = now() + interval '1 d' WHERE id = $1`, [
      ids['revoked'],
    ]);
    expect(await accountsOf('keys list --expiring 30d')).toEqual(['soon']);
    expect(await accountsOf('keys list --revoked')).toEqual(['revoked']);
    expect(await accountsOf('keys list --banned')).toEqual(['banned']);
    expect(await accountsOf('keys list --account later')).toEqual(['later']);
    expect(await accountsOf('keys list --account later --banned')).toEqual([]);
    expect((await cli('keys list --account later --banned')).out).toBe('None.\n');
  });

  it('audit list shows only the changes that --account, --since and --limit choose together, with their seconds', async () => {
    expect(await accountsOf('audit list')).toEqual(['soon', 'later', 'revoked', 'banned', 'revoked']);
    expect(await accountsOf('audit list --account revoked')).toEqual(['revoked', 'revoked']);
    const all = (await cli('audit list --json')).json();
    expect((await cli('audit list --limit 2 --json')).json()).toEqual(all.slice(-2));
    expect(await accountsOf('audit list --limit 1 --account soon')).toEqual(['soon']);
    expect(await accountsOf('audit list --since 1h --account soon')).toEqual(['soon']);
    expect(await accountsOf('audit list --since 2000-01-01 --account soon')).toEqual(['soon']);
    expect(await accountsOf('audit list --since 2100-01-01T00:00Z')).toEqual([]);
    expect((await cli('audit list')).out).toMatch(/^ {2}AT +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/m);
  });

  it('every command prints one JSON document with --json', async () => {
    const json = async (command: string) => {
      const { out, all, json: parsed } = await cli(`${command} --json`);
      expect([all, out.trimEnd().split('\n')]).toEqual([out, [expect.any(String)]]);
      return parsed() as unknown;
    };
    const account = 'changed';
    const { id } = await service.createKey({ account });
    const plan = { plan: 'pro', perMinute: 300, perDay: 10_000 };
    expect(await json(`accounts set-plan ${account} --plan pro`)).toEqual({ account, ...plan });
    expect(await json(`keys set-scopes ${id} --scopes pets:read`)).toEqual({ id, scopes: ['pets:read'] });
    expect(await json(`keys set-addresses ${id} --addresses 1.2.3.4`)).toEqual({
      id,
      addresses: ['1.2.3.4'],
    });
    expect(await json(`keys unban ${id}`)).toEqual({ id, unbanned: false });
    expect(await json('db migrate')).toEqual({ applied: [] });
    expect(await json('db status')).toContainEqual({
      name: 'Pets1795219200001',
      extension: null,
      state: 'applied',
    });
    expect(await json('seed --pets 2 --random-seed a')).toEqual({
      pets: 2,
      randomSeed: 'a',
      seconds: expect.any(Number),
    });
  });

  it('fit 80 columns, also with long names and every scope; a wider terminal shows one line for each item', async () => {
    const label = 'the till next to the shop window of the second branch in the old town, on the left';
    const environment = { DATABASE_URL: service.database.url };
    const scopes = [...DEFAULT_SCOPES, 'pets:manage', 'orders:manage'].join();
    await runCli(
      ['keys', 'create', '--account', 'a b'.repeat(33), '--label', label, '--scopes', scopes],
      environment,
    );
    for (const command of ['keys list', 'accounts list', 'audit list']) {
      const { out } = await cli(command);
      expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    }
    Object.assign(process.stdout, { columns: 500 });
    const { out } = await cli('keys list');
    Object.assign(process.stdout, { columns: undefined });
    const [headings = '', ...rows] = out.trimEnd().split('\n');
    expect(headings).toMatch(
      /^ID +ACCOUNT +LABEL +KEY +SCOPES +ADDRESSES +CREATED +EXPIRES +REVOKED +BANNED UNTIL +LAST USED$/,
    );
    expect(rows).toHaveLength((await cli('keys list --json')).json().length);
    for (const row of rows) expect(row).toContain('pets:read');
  });
});
