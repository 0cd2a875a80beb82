import { chmodSync } from 'node:fs';
import { runCommand } from '../src/cli/program';
import { send } from './support/http';
import { dataFolder, run, running, type RunningService } from './support/service';

jest.setTimeout(60_000);

describe('the command line', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  let service: RunningService;

  beforeAll(async () => {
    chmodSync(folder.path, 0o700);
    service = await running(run('main', [], environment));
  });
  afterAll(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
    folder.remove();
  });

  async function cli(...args: string[]) {
    const command = run('cli/main', args, environment);
    const status = await command.ended;
    const out = command.standardOutput();
    return { status, out, all: command.output(), json: () => JSON.parse(out) };
  }

  it('keys create makes a key that works at once beside the running service, and prints exactly the promised JSON', async () => {
    const { status, all, json } = await cli('keys', 'create', '--account', 'acme', '--json');
    expect(status).toBe(0);
    expect(all.trim().split('\n')).toHaveLength(1);
    expect(json()).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^ask_test_[0-9A-Za-z]{36}$/),
      account: 'acme',
      plan: 'free',
      scopes: ['pets:read', 'pets:write', 'orders:read', 'orders:write'],
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const days = (Date.parse(json().expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364.9);
    expect(days).toBeLessThan(365.1);
    expect((await send(service.url, 'GET', '/v1/pets', { key: json().key })).status).toBe(200);
  });

  it('keys create takes plan, numbers, scopes, expiry and label; the secret is shown once and never listed', async () => {
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

  it('keys create adds a key to an account that exists, and refuses another plan with status 1', async () => {
    expect((await cli('keys', 'create', '--account', 'pro', '--plan', 'pro')).status).toBe(0);
    expect((await cli('keys', 'create', '--account', 'pro', '--json')).json().plan).toBe('pro');
    expect((await cli('keys', 'create', '--account', 'pro', '--plan', 'pro')).status).toBe(0);
    const refused = await cli('keys', 'create', '--account', 'pro', '--plan', 'business', '--json');
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.all.trim().split('\n')).toHaveLength(1);
    expect((await cli('keys', 'list', '--account', 'pro', '--json')).json()).toHaveLength(3);
  });

  it('keys revoke ends a key; twice is the same; an unknown id is status 1', async () => {
    const { id, key } = (await cli('keys', 'create', '--account', 'gone', '--json')).json();
    expect((await cli('keys', 'revoke', id)).status).toBe(0);
    expect((await send(service.url, 'GET', '/v1/pets', { key })).json.code).toBe('revoked_api_key');
    const revokedAt = async () =>
      (await cli('keys', 'list', '--account', 'gone', '--json')).json()[0].revokedAt as string;
    const first = await revokedAt();
    expect((await cli('keys', 'revoke', id)).status).toBe(0);
    expect(await revokedAt()).toBe(first);
    expect((await cli('keys', 'revoke', '00000000-0000-4000-8000-000000000000')).status).toBe(1);
    expect((await cli('keys', 'revoke', "1' or true")).status).toBe(1);
  });

  it('db status and db migrate work beside the running service', async () => {
    const status = await cli('db', 'status');
    expect(status.out.trim().split('\n')).toEqual([
      expect.stringMatching(/^applied {2}AccountsAndApiKeys/),
      expect.stringMatching(/^applied {2}Pets/),
    ]);
    expect(await cli('db', 'migrate')).toMatchObject({ status: 0, out: 'The schema is up to date.\n' });
  });
});

describe('the command line without a running service', () => {
  const folder = dataFolder();
  afterAll(folder.remove);

  async function cli(...args: string[]) {
    const command = run('cli/main', args, { DATA_DIR: folder.path, DEPLOYMENT: 'production' });
    return { status: await command.ended, out: command.standardOutput() };
  }

  it('sets an empty directory up, makes a live key that a later start knows, and takes migrations back and forth', async () => {
    const { out } = await cli('keys', 'create', '--account', 'acme', '--json');
    const { key } = JSON.parse(out) as { key: string };
    expect(key).toMatch(/^ask_live_/);
    const service = await running(run('main', [], { DATA_DIR: folder.path, DEPLOYMENT: 'production' }));
    expect((await send(service.url, 'GET', '/v1/pets', { key })).status).toBe(200);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect((await cli('db', 'revert')).out).toMatch(/^Took back Pets/);
    expect((await cli('db', 'status')).out).toMatch(/^applied {2}Accounts.*\npending {2}Pets/);
    expect(await cli('keys', 'list')).toEqual({ status: 1, out: '' });
    expect((await cli('db', 'migrate')).out).toMatch(/^Applied Pets/);
    expect([await cli('db', 'revert'), await cli('db', 'revert')]).toMatchObject([
      { status: 0 },
      { status: 0 },
    ]);
    expect((await cli('db', 'revert')).out).toBe('There is no migration to take back.\n');
    expect((await cli('db', 'migrate')).out).toMatch(/^Applied Accounts.*, Pets/);
  });
});

describe('several commands at once without a running service', () => {
  const folder = dataFolder();
  afterAll(folder.remove);

  it('all succeed, and so does a service that starts meanwhile', async () => {
    const environment = { DATA_DIR: folder.path };
    const commands = Array.from({ length: 4 }, () =>
      run('cli/main', ['keys', 'create', '--account', 'race', '--json'], environment),
    );
    const service = await running(run('main', [], environment));
    const statuses = [];
    for (const command of commands) statuses.push([await command.ended, command.output().includes('"key"')]);
    expect(statuses).toEqual(commands.map(() => [0, true]));
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});

describe('usage of the command line', () => {
  async function inProcess(args: readonly string[]) {
    const written = { out: '', all: '' };
    const out = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.out += String(text);
      written.all += String(text);
      return true;
    });
    const error = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written.all += String(text);
      return true;
    });
    const status = await runCommand(args);
    out.mockRestore();
    error.mockRestore();
    return { status, ...written };
  }

  it.each([
    [[]],
    [['keys']],
    [['nothing']],
    [['keys', 'make']],
    [['keys', 'create']],
    [['keys', 'create', '--account', '']],
    [['keys', 'create', '--account', 'a\u0007b']],
    [['keys', 'create', '--account', 'x', '--plan', 'gold']],
    [['keys', 'create', '--account', 'x', '--plan', 'enterprise']],
    [['keys', 'create', '--account', 'x', '--plan', 'enterprise', '--per-minute', '5']],
    [['keys', 'create', '--account', 'x', '--per-day', '5']],
    [['keys', 'create', '--account', 'x', '--plan', 'pro', '--per-minute', '5', '--per-day', '5']],
    [['keys', 'create', '--account', 'x', '--scopes', 'pets:eat']],
    [['keys', 'create', '--account', 'x', '--scopes', '']],
    [['keys', 'create', '--account', 'x', '--expires', '90']],
    [['keys', 'create', '--account', 'x', '--expires', '0d']],
    [['keys', 'create', '--account', 'x', '--unknown']],
    [['keys', 'create', 'extra', '--account', 'x']],
    [['keys', 'revoke']],
    [['db', 'status', 'now']],
  ])('wrong usage is status 2, says why and changes nothing: %j', async (args) => {
    const { status, out, all } = await inProcess(args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(all).not.toBe('');
  });

  it('help that was asked for is status 0', async () => {
    for (const args of [['--help'], ['keys', '--help'], ['keys', 'create', '--help'], ['help']]) {
      expect(await inProcess(args)).toMatchObject({
        status: 0,
        out: expect.stringContaining('Usage: animal-store'),
      });
    }
  });
});
