import { grace } from '../../src/cli/arguments';
import { runCli } from '../support/cli';

describe('usage of the command line', () => {
  it.each([
    [[]],
    [['keys']],
    [['nothing']],
    [['keys', 'make']],
    [['keys', 'create']],
    [['keys', 'create', '--account', '']],
    [['keys', 'create', '--account', '*']],
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
    [['db', 'copy']],
    [['db', 'copy', '--to', '']],
    [['db', 'copy', '--to', 'shop']],
    [['db', 'copy', '--to', 'mysql://127.0.0.1/shop']],
    [['db', 'copy', 'postgresql://127.0.0.1/shop']],
    [['accounts', 'set-plan', 'x']],
    [['accounts', 'set-plan', '--plan', 'pro']],
    [['accounts', 'set-plan', 'x', '--plan', 'enterprise']],
    [['accounts', 'set-plan', 'x', '--plan', 'pro', '--per-day', '5']],
    [['seed']],
    [['seed', '--pets']],
    [['seed', '--pets', '0']],
    [['seed', '--pets', '-1']],
    [['seed', '--pets', '1e3']],
    [['seed', '--pets', '10', '--random-seed', '']],
    [['seed', '--pets', '10', '20']],
    [['keys', 'unban']],
    [['verify']],
    [['verify', '--base-url', 'http://127.0.0.1:1/v1']],
    [['verify', '--key', 'ask_test_x']],
    [['verify', '--base-url', 'ftp://127.0.0.1/v1', '--key', 'ask_test_x']],
    [['verify', '--base-url', '127.0.0.1:3000', '--key', 'ask_test_x']],
    [['verify', '--base-url', 'http://127.0.0.1:1/v1?limit=1', '--key', 'ask_test_x']],
    [['verify', '--base-url', 'http://127.0.0.1:1/v1', '--key', '']],
    [['verify', '--base-url', 'http://127.0.0.1:1/v1', '--key', '--json']],
    [['verify', 'now', '--base-url', 'http://127.0.0.1:1/v1', '--key', 'ask_test_x']],
    [['keys', 'set-scopes', 'x']],
    [['keys', 'set-scopes', '--scopes', 'pets:read']],
    [['keys', 'set-scopes', 'x', '--scopes', 'pets:eat']],
    [['keys', 'rotate']],
    [['keys', 'rotate', 'x', '--grace']],
    [['keys', 'rotate', 'x', '--grace', '']],
    [['keys', 'rotate', 'x', '--grace', '24']],
    [['keys', 'rotate', 'x', '--grace', '1w']],
    [['keys', 'rotate', 'x', '--grace', '-1h']],
    [['keys', 'rotate', 'x', '--grace', '8d']],
    [['keys', 'rotate', 'x', '--grace', '169h']],
    [['keys', 'rotate', 'x', '--grace', '10081m']],
  ])('exits with 2 and prints the reason for wrong usage: %j', async (args) => {
    const { status, out, all } = await runCli(args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(all).not.toBe('');
  });

  it('never prints an invalid URL of --to, which can contain a password', async () => {
    const { status, all } = await runCli(['db', 'copy', '--to', 'postgresql://svc:secret@127.0.0.1:99999/x']);
    expect(status).toBe(2);
    expect(all).toContain('--to takes a URL');
    expect(all).not.toContain('secret');
  });

  it.each([
    ['0', 0],
    ['0h', 0],
    ['90s', 90_000],
    ['90m', 5_400_000],
    ['168h', 604_800_000],
    ['7d', 604_800_000],
  ])('reads a grace period of %s as %d ms', (text, ms) => {
    expect(grace(text)).toBe(ms);
  });

  it('exits with 0 after --help', async () => {
    for (const args of [
      ['--help'],
      ['keys', '--help'],
      ['keys', 'create', '--help'],
      ['seed', '--help'],
      ['help'],
    ]) {
      expect(await runCli(args)).toMatchObject({
        status: 0,
        out: expect.stringContaining('Usage: animal-store'),
      });
    }
  });
});
