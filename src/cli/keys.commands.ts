import { type Command, Option } from 'commander';
import { ApiKeysService } from '../accounts';
import { DEFAULT_SCOPES } from '../app/store';
import {
  accountName,
  expiry,
  grace,
  label,
  planChoice,
  planOption,
  type PlanOptions,
  scopesOption,
  wholeNumber,
} from './arguments';
import type { CommandContext } from './context';
import { cellText, JSON_OPTION, printLine, printList, printResult } from './output';

const DEFAULT_EXPIRY = '365d';
const DEFAULT_GRACE = '24h';

const HEADINGS = 'ID,ACCOUNT,LABEL,KEY,SCOPES,CREATED,EXPIRES,REVOKED,BANNED UNTIL,LAST USED'.split(',');

interface CreateOptions extends PlanOptions {
  readonly account: string;
  readonly scopes: readonly string[];
  readonly expires: Date | 'never';
  readonly label: string;
  readonly json?: true;
}

export function addKeysCommands(keys: Command, context: CommandContext): void {
  addCreateAndListCommands(keys, context);
  addChangeCommands(keys, context);
}

function addCreateAndListCommands(keys: Command, context: CommandContext): void {
  const { scopes } = context.store;
  keys
    .command('create')
    .description('create a key, and its account if it is new; prints the secret once')
    .requiredOption('--account <name>', 'account that owns the key', accountName)
    .addOption(planOption('plan of a new account (default: free)'))
    .option('--per-minute <n>', 'requests per minute of an Enterprise account', wholeNumber)
    .option('--per-day <n>', 'requests per day of an Enterprise account', wholeNumber)
    .addOption(scopesOption(scopes).default(DEFAULT_SCOPES, DEFAULT_SCOPES.join(',')))
    .addOption(
      new Option('--expires <when>', 'days until the key expires, such as 90d, or never')
        .argParser(expiry)
        .default(expiry(DEFAULT_EXPIRY), DEFAULT_EXPIRY),
    )
    .option('--label <text>', 'purpose of the key', label, '')
    .option(...JSON_OPTION)
    .action(async (options: CreateOptions, command: Command) => {
      const choice = planChoice(options, command);
      const expiresAt = options.expires === 'never' ? undefined : options.expires;
      const issued = await context.withService(ApiKeysService, (service) =>
        service.create({ ...options, choice, expiresAt }),
      );
      const { id, key, account, plan: name, scopes: allowed } = issued;
      printResult(options.json, issued, [
        `API key of the account ${account} (plan ${name}), shown only once:`,
        `  ${key}`,
        `id ${id}, expires ${cellText(issued.expiresAt)}, scopes ${allowed.join(', ')}`,
      ]);
    });
  keys
    .command('list')
    .description('list all keys, or the keys of one account; never shows secrets')
    .option('--account <name>', 'only keys of this account')
    .option(...JSON_OPTION)
    .action(async ({ account, json }) => {
      const listed = await context.withService(ApiKeysService, (service) => service.list(account));
      printList(listed, json, HEADINGS, ({ id, label: purpose, prefix, lastFour, ...key }) => {
        const times = [key.createdAt, key.expiresAt, key.revokedAt, key.bannedUntil, key.lastUsedAt];
        return [id, key.account, purpose, `${prefix}…${lastFour}`, key.scopes.join(','), ...times];
      });
    });
}

function addChangeCommands(keys: Command, context: CommandContext): void {
  keys
    .command('rotate <id>')
    .description('give a key a new secret and print it once; older secrets work until the grace period ends')
    .addOption(
      new Option('--grace <time>', 'how long older secrets still work: 0 to 7d, such as 30m, 24h, 7d')
        .argParser(grace)
        .default(grace(DEFAULT_GRACE), DEFAULT_GRACE),
    )
    .option(...JSON_OPTION)
    .action(async (id, { grace: graceMs, json }) => {
      const rotated = await context.withService(ApiKeysService, (service) => service.rotate(id, graceMs));
      const { key, account, expiresAt, graceEndsAt } = rotated;
      printResult(json, rotated, [
        `New secret of the key ${id} of the account ${account}, shown only once:`,
        `  ${key}`,
        `Older secrets expire at ${graceEndsAt.toISOString()}; every instance rejects them at most 5 s later.`,
        `The key still expires at ${cellText(expiresAt)}.`,
      ]);
    });
  keys
    .command('set-scopes <id>')
    .description('replace the scopes of a key; takes effect everywhere within 5 s')
    .addOption(scopesOption(context.store.scopes).makeOptionMandatory())
    .option(...JSON_OPTION)
    .action(async (id: string, { scopes: allowed, json }: Pick<CreateOptions, 'scopes' | 'json'>) => {
      await context.withService(ApiKeysService, (service) => service.setScopes(id, allowed));
      const names = allowed.join(', ');
      const line = `The key ${id} now has the scopes ${names}; takes effect everywhere within 5 s.`;
      printResult(json, { id, scopes: allowed }, [line]);
    });
  keys
    .command('revoke <id>')
    .description('revoke a key; takes effect everywhere within 5 s')
    .action(async (id) => {
      await context.withService(ApiKeysService, (service) => service.revoke(id));
      printLine(`Revoked ${id}; takes effect everywhere within 5 s.`);
    });
  keys
    .command('unban <id>')
    .description('lift the ban of a key; takes effect within 5 s')
    .action(async (id) => {
      await context.withService(ApiKeysService, (service) => service.unban(id));
      printLine(`Ban of ${id} lifted; takes effect within 5 s.`);
    });
}
