import { resolve } from 'node:path';
import type { Command } from 'commander';
import { version } from '../app/store';
import { backupDatabase } from '../platform/database/backup/backup-database';
import { restoreDatabase } from '../platform/database/backup/restore-database';
import type { CopiedTable } from '../platform/database/copy/fill-database';
import type { CommandContext } from './context';
import { printJson, printLine } from './output';

export function addBackupCommands(db: Command, context: CommandContext): void {
  db.command('backup <file>')
    .description('write everything in the database to a file; the service may run')
    .option('--force', 'replace an existing file')
    .option('--json', 'print one JSON document')
    .action((file, options) => backup(file, options, context));
  db.command('restore <file>')
    .description('read everything in a backup into an empty database')
    .option('--json', 'print one JSON document')
    .action((file, options) => restore(file, options, context));
}

async function backup(
  name: string,
  { force = false, json = false }: { readonly force?: boolean; readonly json?: boolean },
  context: CommandContext,
): Promise<void> {
  const file = resolve(name);
  const { createdAt, bytes, tables } = await context.withDatabase((config) =>
    backupDatabase(config, { path: file, isReplacing: force, program: version }, json ? ignore : printTable),
  );
  if (json) printJson({ file, createdAt, bytes, tables });
  else printLine(`Wrote ${tables.length} tables with ${rowsOf(tables)} rows to ${file} (${bytes} bytes).`);
}

async function restore(
  name: string,
  { json = false }: { readonly json?: boolean },
  context: CommandContext,
): Promise<void> {
  const file = resolve(name);
  const { createdAt, tables, migrated } = await context.withDatabase((config) =>
    restoreDatabase(config, file, json ? ignore : printTable),
  );
  if (json) {
    printJson({ file, createdAt, tables, migrated });
    return;
  }
  if (migrated.length > 0) printLine(`Applied ${migrated.join(', ')}.`);
  printLine(`Restored ${tables.length} tables with ${rowsOf(tables)} rows of ${createdAt}.`);
}

function printTable({ table, rows }: CopiedTable): void {
  printLine(`${table}: ${rows}`);
}

const ignore = (): void => undefined;

function rowsOf(tables: readonly CopiedTable[]): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}
