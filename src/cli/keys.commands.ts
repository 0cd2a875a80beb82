import { type Command, Option } from 'commander';
import { ApiKeysService, KeyRotationService } from '../accounts';
import { grace, scopesOf, scopesText } from './arguments';
import type { CommandContext } from './context';
import { addCreateCommand } from './keys-create.command';
import { printKeys, printRotated } from './keys.output';
import { printJson, printLine } from './output';

const DEFAULT_GRACE = '24h';

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
  addCreateCommand(keys, context);
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
