import type { Command } from 'commander';
import { AccountsService, limitsOf } from '../accounts';
import { plan, planChoice, type PlanOptions, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import { minuteOf, printJson, printLine, printTable } from './output';

export function addAccountsCommands(accounts: Command, context: CommandContext): void {
  accounts
    .command('list')
    .description('list all accounts with their plan and rate limits')
    .option('--json', 'print one JSON document')
    .action((options) => list(context, options));
  accounts
    .command('set-plan <name>')
    .description('move an account to another plan; takes effect everywhere within 5 s')
    .requiredOption('--plan <plan>', 'free, pro, business or enterprise', plan)
    .option('--per-minute <n>', 'requests per minute of an Enterprise account', wholeNumber)
    .option('--per-day <n>', 'requests per day of an Enterprise account', wholeNumber)
    .action((name, options, command) => setPlan(context, name, options, command));
}

async function setPlan(
  context: CommandContext,
  name: string,
  options: PlanOptions,
  command: Command,
): Promise<void> {
  const choice = planChoice(options, command);
  if (!choice) return;
  await context.withService(AccountsService, (service) => service.setPlan(name, choice));
  const { perMinute, perDay } = limitsOf(choice);
  printLine(
    `${name} now has the plan ${choice.plan} (${perMinute} requests per minute, ${perDay} per day); takes effect within 5 s.`,
  );
}

async function list(context: CommandContext, { json }: { readonly json?: true }): Promise<void> {
  const accounts = await context.withService(AccountsService, (service) => service.list());
  const rows = accounts.map((account) => ({
    account: account.name,
    plan: account.plan,
    ...limitsOf(account),
    createdAt: account.createdAt,
  }));
  if (json) printJson(rows);
  else {
    printTable(
      ['ACCOUNT', 'PLAN', 'PER MINUTE', 'PER DAY', 'CREATED'],
      rows.map(({ account, plan: name, perMinute, perDay, createdAt }) => [
        account,
        name,
        String(perMinute),
        String(perDay),
        minuteOf(createdAt),
      ]),
    );
  }
}
