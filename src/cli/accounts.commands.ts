import type { Command } from 'commander';
import { AccountsService, limitsOf } from '../accounts';
import { plan, planChoice, type PlanOptions, wholeNumber } from './arguments';
import { withServices } from './context';
import { minuteOf, printJson, printLine, printTable } from './output';

export function addAccountsCommands(accounts: Command): void {
  accounts
    .command('list')
    .description('list all accounts with their plan and rate limits')
    .option('--json', 'print one JSON document')
    .action(list);
  accounts
    .command('set-plan <name>')
    .description('move an account to another plan; takes effect everywhere within 5 s')
    .requiredOption('--plan <plan>', 'free, pro, business or enterprise', plan)
    .option('--per-minute <n>', 'requests per minute of an Enterprise account', wholeNumber)
    .option('--per-day <n>', 'requests per day of an Enterprise account', wholeNumber)
    .action(setPlan);
}

async function setPlan(name: string, options: PlanOptions, command: Command): Promise<void> {
  const choice = planChoice(options, command);
  if (!choice) return;
  await withServices((services) => services.get(AccountsService, { strict: false }).setPlan(name, choice));
  const { perMinute, perDay } = limitsOf(choice);
  printLine(
    `${name} now has the plan ${choice.plan} (${perMinute} requests per minute, ${perDay} per day); takes effect within 5 s.`,
  );
}

async function list({ json }: { readonly json?: true }): Promise<void> {
  const accounts = await withServices((services) => services.get(AccountsService, { strict: false }).list());
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
