import { type Command, Option } from 'commander';
import { ApiKeysService, type Plan } from '../accounts';
import { DEFAULT_SCOPES } from '../app/store';
import { accountName, expiry, label, plan, planChoice, scopesOf, scopesText, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import { printIssued } from './keys.output';
import { printJson } from './output';

const DEFAULT_EXPIRY = '365d';

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

export function addCreateCommand(keys: Command, context: CommandContext): void {
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
