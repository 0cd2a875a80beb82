import { grace } from '../../src/cli/arguments';
import { runCli } from '../support/cli';

const SCOPES = [
  'pets:read',
  'pets:write',
  'orders:read',
  'orders:write',
  'pets:manage',
  'orders:manage',
] as const;

const ADDRESSES = 'any, or up to 20 addresses or CIDR blocks such as 192.0.2.7,2001:db8::/32';

/** One command for each rule of each command's arguments. */
const WRONG = [
  '',
  'nothing',
  'keys create',
  'keys create --account ',
  'keys create --account *',
  'keys create --account a\u0007b',
  'keys create --account x --plan gold',
  'keys create --account x --plan enterprise --per-minute 5',
  'keys create --account x --per-day 5',
  'keys create --account x --scopes ',
  'keys create --account x --expires 90',
  'keys create --account x --expires 0d',
  'keys list --expiring never',
  'keys revoke x',
  'usage --from 2026-02-30',
  'db revert',
  'keys create --account x --unknown',
  'keys revoke',
  'keys set-scopes x',
  'keys set-scopes x --scopes pets:eat',
  'keys set-addresses x',
  'keys rotate x --grace 24',
  'keys rotate x --grace -1h',
  'keys rotate x --grace 169h',
  'accounts set-plan x',
  'accounts set-plan x --plan enterprise',
  'accounts set-plan x --plan pro --per-day 5',
  'db status now',
  'db revert --extension',
  'new',
  'new Vet visits',
  'new vet_clinic visits',
  'new vet-clinic vet/../visits',
  'new vet-clinic pets',
  'seed',
  'seed --pets 0',
  'seed --pets 1e3',
  'seed --pets 10 --random-seed ',
];

describe('usage of the command line', () => {
  it.each(WRONG)('exits with 2 and prints the reason for wrong usage: %j', async (command) => {
    const { status, out, all } = await runCli(command === '' ? [] : command.split(' '));
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(all).not.toBe('');
  });

  it.each(['10.0.0.0/33', 'shop.example', '192.0.2.1,', ''])(
    'exits with 2 and says which addresses a key may have, if one is wrong: %j',
    async (addresses) => {
      const { status, all } = await runCli(['keys', 'set-addresses', 'x', '--addresses', addresses]);
      expect({ status, all }).toEqual({ status: 2, all: expect.stringContaining(`${ADDRESSES}.`) });
    },
  );

  it('names every scope if one is unknown', async () => {
    const { status, all } = await runCli(['keys', 'create', '--account', 'x', '--scopes', 'orders:approve']);
    expect(status).toBe(2);
    for (const scope of SCOPES) expect(all).toContain(scope);
  });

  it('reads a grace period in each unit', () => {
    const week = 604_800_000;
    const periods = { 0: 0, '0h': 0, '90s': 90_000, '90m': 5_400_000, '168h': week, '7d': week };
    expect(Object.keys(periods).map(grace)).toEqual(Object.values(periods));
  });

  it('exits with 0 after --help, which names every scope, and those of a buyer as the default', async () => {
    for (const command of ['--help', 'keys --help', 'seed --help', 'help']) {
      const { status, out } = await runCli(command.split(' '));
      expect([status, out]).toEqual([0, expect.stringContaining('Usage: animal-store')]);
    }
    const helpOf = async (command: string) =>
      (await runCli(['keys', command, '--help'])).out.replaceAll(/\s+/g, ' ');
    const [create, setScopes] = [await helpOf('create'), await helpOf('set-scopes')];
    for (const scope of SCOPES)
      expect([create, setScopes]).toEqual(Array(2).fill(expect.stringContaining(scope)));
    expect(create).toContain('(default: pets:read,pets:write,orders:read,orders:write,events:read)');
  });
});
