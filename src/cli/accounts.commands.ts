import type { Command } from 'commander';
import { AccountsService, limitsOf } from '../accounts';
import { planChoice, planOption, type PlanOptions, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import { JSON_OPTION, printLine, printList } from './output';

export function addAccountsCommands(accounts: Command, context: CommandContext): void {
  accounts
    .command('list')
    .description('list all accounts with their plan and rate limits')
    .option(...JSON_OPTION)
    .action(async ({ json }) => {
      const listed = await context.withService(AccountsService, (service) => service.list());
      const rows = listed.map(({ name, createdAt, ...choice }) => ({
        account: name,
        plan: choice.plan,
        ...limitsOf(choice),
        createdAt,
      }));
      const headings = ['ACCOUNT', 'PLAN', 'PER MINUTE', 'PER DAY', 'CREATED'];
      printList(rows, json, headings, Object.values);
    });
  accounts
    .command('set-plan <name>')
    .description('move an account to another plan; takes effect everywhere within 5 s')
    .addOption(planOption('new plan').makeOptionMandatory())
    .option('--per-minute <n>', 'requests per minute of an Enterprise account', wholeNumber)
    .option('--per-day <n>', 'requests per day of an Enterprise account', wholeNumber)
    .action(async (name: string, options: PlanOptions, command: Command) => {
      const choice = planChoice(options, command);
      if (!choice) return;
      await context.withService(AccountsService, (service) => service.setPlan(name, choice));
      const { perMinute, perDay } = limitsOf(choice);
      const limits = `(${perMinute} requests per minute, ${perDay} per day)`;
      printLine(`${name} now has the plan ${choice.plan} ${limits}; takes effect within 5 s.`);
    });
}

export function addAuditCommands(audit: Command, context: CommandContext): void {
  audit
    .command('list')
    .description('list all administrative changes: time, command, account, key, and the user of the system')
    .option(...JSON_OPTION)
    .action(async ({ json }) => {
      const entries = await context.withService(AccountsService, (accounts) => accounts.listAudit());
      const headings = ['AT', 'USER', 'COMMAND', 'ACCOUNT', 'KEY', 'DETAILS'];
      const cellsOf = (entry: (typeof entries)[number]) =>
        (['at', 'osUser', 'command', 'account', 'keyId', 'details'] as const).map((name) => entry[name]);
      printList(entries, json, headings, cellsOf);
    });
}
