import { type Command, Option } from 'commander';
import { ApiKeysService, KeyRotationService, type Plan } from '../accounts';
import { DEFAULT_SCOPES } from '../app/store';
import {
  accountName,
  expiry,
  grace,
  label,
  plan,
  planChoice,
  scopesOf,
  scopesText,
  wholeNumber,
} from './arguments';
import type { CommandContext } from './context';
import { printIssued, printKeys, printRotated } from './keys.output';
import { printJson, printLine } from './output';

const DEFAULT_EXPIRY = '365d';
const DEFAULT_GRACE = '24h';

interface CreateOptions {
  readonly account: string;
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly scopes: readonly string[];
  readonly expires: Date | 'never';
  readonly label: string;
  readonly json?: true;
}

interface ScopesOptions {
  readonly scopes: readonly string[];
  readonly json?: true;
}

interface RotateOptions {
  /** In milliseconds. */
  readonly grace: number;
  readonly json?: true;
}

export function addKeysCommands(keys: Command, context: CommandContext): void {
  addCreate(keys, context);
  keys
    .command('list')
    .description('list all keys, or the keys of one account; never shows secrets')
    .option('--account <name>', 'only keys of this account')
    .option('--json', 'print one JSON document')
    .action((options) => list(context, options));
  keys
    .command('rotate <id>')
    .description('give a key a new secret and print it once; older secrets work until the grace period ends')
    .addOption(
      new Option('--grace <time>', 'how long older secrets still work: 0 to 7d, such as 30m, 24h, 7d')
        .argParser(grace)
        .default(grace(DEFAULT_GRACE), DEFAULT_GRACE),
    )
    .option('--json', 'print one JSON document')
    .action((id, options) => rotate(context, id, options));
  keys
    .command('set-scopes <id>')
    .description('replace the scopes of a key; takes effect everywhere within 5 s')
    .requiredOption('--scopes <list>', scopesText(context.store.scopes), scopesOf(context.store.scopes))
    .option('--json', 'print one JSON document')
    .action((id, options) => setScopes(context, id, options));
  keys
    .command('revoke <id>')
    .description('revoke a key; takes effect everywhere within 5 s')
    .action((id) => revoke(context, id));
  keys
    .command('unban <id>')
    .description('lift the ban of a key; takes effect within 5 s')
    .action((id) => unban(context, id));
}

function addCreate(keys: Command, context: CommandContext): void {
  const { scopes: all } = context.store;
  keys
    .command('create')
    .description('create a key, and its account if it is new; prints the secret once')
    .requiredOption('--account <name>', 'account that owns the key', accountName)
    .option('--plan <plan>', 'plan of a new account: free (default), pro, business, enterprise', plan)
    .option('--per-minute <n>', 'requests per minute of an Enterprise account', wholeNumber)
    .option('--per-day <n>', 'requests per day of an Enterprise account', wholeNumber)
    .addOption(
      new Option('--scopes <list>', scopesText(all))
        .argParser(scopesOf(all))
        .default(DEFAULT_SCOPES, DEFAULT_SCOPES.join(',')),
    )
    .addOption(
      new Option('--expires <when>', 'days until the key expires, such as 90d, or never')
        .argParser(expiry)
        .default(expiry(DEFAULT_EXPIRY), DEFAULT_EXPIRY),
    )
    .option('--label <text>', 'purpose of the key', label, '')
    .option('--json', 'print one JSON document')
    .action((options, command) => create(context, options, command));
}

async function create(context: CommandContext, options: CreateOptions, command: Command): Promise<void> {
  const choice = planChoice(options, command);
  const issued = await context.withService(ApiKeysService, (service) =>
    service.create({
      account: options.account,
      choice,
      scopes: options.scopes,
      expiresAt: options.expires === 'never' ? undefined : options.expires,
      label: options.label,
    }),
  );
  if (options.json) printJson(issued);
  else printIssued(issued);
}

async function list(
  context: CommandContext,
  { account, json }: { readonly account?: string; readonly json?: true },
): Promise<void> {
  const keys = await context.withService(ApiKeysService, (service) => service.list(account));
  if (json) printJson(keys);
  else printKeys(keys);
}

async function rotate(
  context: CommandContext,
  id: string,
  { grace: graceMs, json }: RotateOptions,
): Promise<void> {
  const rotated = await context.withService(KeyRotationService, (service) => service.rotate(id, graceMs));
  if (json) printJson(rotated);
  else printRotated(rotated);
}

async function setScopes(
  context: CommandContext,
  id: string,
  { scopes: allowed, json }: ScopesOptions,
): Promise<void> {
  await context.withService(ApiKeysService, (service) => service.setScopes(id, allowed));
  if (json) printJson({ id, scopes: allowed });
  else
    printLine(`The key ${id} now has the scopes ${allowed.join(', ')}; takes effect everywhere within 5 s.`);
}

async function revoke(context: CommandContext, id: string): Promise<void> {
  await context.withService(ApiKeysService, (service) => service.revoke(id));
  printLine(`Revoked ${id}; takes effect everywhere within 5 s.`);
}

async function unban(context: CommandContext, id: string): Promise<void> {
  await context.withService(ApiKeysService, (service) => service.unban(id));
  printLine(`Ban of ${id} lifted; takes effect within 5 s.`);
}
