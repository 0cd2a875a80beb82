import type { Command } from 'commander';
import { AuditRepository } from '../accounts';
import type { CommandContext } from './context';
import { minuteOf, printJson, printTable } from './output';

export function addAuditCommands(audit: Command, context: CommandContext): void {
  audit
    .command('list')
    .description('list all administrative changes: time, command, account, key, and the user of the system')
    .option('--json', 'print one JSON document')
    .action((options) => list(context, options));
}

async function list(context: CommandContext, { json }: { readonly json?: true }): Promise<void> {
  const entries = await context.withService(AuditRepository, (audit) => audit.list());
  if (json) printJson(entries);
  else {
    printTable(
      ['AT', 'USER', 'COMMAND', 'ACCOUNT', 'KEY', 'DETAILS'],
      entries.map(({ at, osUser, command, account, keyId, details }) => [
        minuteOf(at),
        osUser,
        command,
        account ?? '-',
        keyId ?? '-',
        details,
      ]),
    );
  }
}
