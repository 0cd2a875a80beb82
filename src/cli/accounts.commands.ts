import type { Command } from 'commander';
import { AccountsRepository, limitsOf } from '../auth';
import { withServices } from './context';
import { minuteOf, printJson, printTable } from './output';

export function addAccountsCommands(accounts: Command): void {
  accounts
    .command('list')
    .description('all accounts with their plan and its limits')
    .option('--json', 'print one JSON document')
    .action(list);
}

async function list({ json }: { readonly json?: true }): Promise<void> {
  const accounts = await withServices((services) =>
    services.get(AccountsRepository, { strict: false }).list(),
  );
  const rows = accounts.map(({ name, plan, createdAt, ...numbers }) => ({
    account: name,
    plan,
    ...limitsOf({ plan, ...numbers }),
    createdAt,
  }));
  if (json) printJson(rows);
  else {
    printTable(
      ['ACCOUNT', 'PLAN', 'PER MINUTE', 'PER DAY', 'CREATED'],
      rows.map(({ account, plan, perMinute, perDay, createdAt }) => [
        account,
        plan,
        String(perMinute),
        String(perDay),
        minuteOf(createdAt),
      ]),
    );
  }
}
