import type { Command } from 'commander';
import { AccountsService, limitsOf, type Plan } from '../auth';
import { planChoice, planOptions } from './arguments';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

export function addAccountsCommands(accounts: OutputCommand, context: CommandContext): void {
  accounts
    .command('list')
    .description('list all accounts with their plan and rate limits')
    .prints(async () => {
      const listed = await context.readAll(AccountsService, (service, query) => service.list(query));
      const facts = listed.map(({ name, createdAt, disabledAt, ...choice }) => {
        return { account: name, plan: choice.plan, ...limitsOf(choice), createdAt, disabledAt };
      });
      return listOf(facts, (each) => each);
    });
  accounts
    .command('set-plan <name>')
    .description('move an account to another plan; takes effect everywhere within 5 s')
    .addOptions(planOptions('new plan', true))
    .prints(async (account: string, options: { plan: Plan }, command: Command) => {
      const choice = planChoice(options, command);
      await context.withService(AccountsService, (service) => service.update(account, choice));
      const { perMinute, perDay } = limitsOf(choice);
      const limits = `(${perMinute} requests per minute, ${perDay} per day)`;
      const text = `${account} now has the plan ${choice.plan} ${limits}; takes effect within 5 s.`;
      return { json: { account, plan: choice.plan, perMinute, perDay }, text };
    });
  for (const verb of ['disable', 'enable'] as const) {
    accounts
      .command(`${verb} <name>`)
      .description(`${verb} all keys of an account; takes effect everywhere within 5 s`)
      .prints(async (account: string) => {
        const disabled = verb === 'disable';
        await context.withService(AccountsService, (service) => service.update(account, { disabled }));
        const text = `The account ${account} is now ${verb}d; takes effect within 5 s.`;
        return { json: { account, disabled }, text };
      });
  }
}

export function addAuditCommands(audit: OutputCommand, context: CommandContext): void {
  audit
    .command('list')
    .description('list the administrative changes: time, command, account, key, and the user of the system')
    .prints(async () => {
      const listed = await context.readAll(AccountsService, (service, query) => service.listAudit(query));
      return listOf(listed, ({ at, osUser, madeByKey, command, account, keyId: key, details }) => {
        const user = osUser ?? `key ${madeByKey}`;
        return { at: at.toISOString().replace(/\.\d+/, ''), user, command, account, key, details };
      });
    });
}
