import { resolve } from 'node:path';
import type { Command } from 'commander';
import { version } from '../app/store';
import { backupDatabase, type CopiedTable } from '../platform/database/backup/backup-database';
import { restoreDatabase } from '../platform/database/backup/restore-database';
import { migrate, migrationStates, revert } from '../platform/database/migrate';
import type { CommandContext } from './context';
import { JSON_OPTION, printJson, printLine } from './output';

export function addDbCommands(db: Command, context: CommandContext): void {
  db.command('migrate')
    .description('apply all pending migrations, as the service does at start')
    .action(async () => {
      const { applied } = await context.withDatabase(migrate);
      printLine(applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`);
    });
  db.command('revert')
    .description('revert the last migration; deletes the tables and data that it added')
    .option('--extension <name>', 'revert all migrations of an extension of this program')
    .action(async ({ extension }) => {
      const reverted = await context.withDatabase((config) => revert(config, extension));
      printLine(
        reverted.length === 0 ? 'There is no migration to revert.' : `Reverted ${reverted.join(', ')}.`,
      );
    });
  db.command('status')
    .description('list all migrations: applied, pending, of a removed extension, or of a newer version')
    .action(async () => {
      for (const { name, state, extension } of await context.withDatabase(migrationStates)) {
        const owner = extension === null ? '' : ` (${extension})`;
        printLine(`${state.padEnd('applied'.length)}  ${name}${owner}`);
      }
    });
  db.command('backup <file>')
    .description('write everything in the database to a file; the service may run')
    .option('--force', 'replace an existing file')
    .option(...JSON_OPTION)
    .action(async (name: string, { force = false, json }) => {
      const file = resolve(name);
      const request = { path: file, isReplacing: force, program: version };
      const { createdAt, bytes, tables } = await context.withDatabase((config) =>
        backupDatabase(config.databaseUrl, request),
      );
      if (json) printJson({ file, createdAt, bytes, tables });
      else printCopied('Wrote', tables, `to ${file} (${bytes} bytes)`);
    });
  db.command('restore <file>')
    .description('read everything in a backup into an empty database')
    .option(...JSON_OPTION)
    .action(async (name: string, { json }) => {
      const file = resolve(name);
      const { createdAt, tables, migrated } = await context.withDatabase((config) =>
        restoreDatabase(config, file),
      );
      if (json) return printJson({ file, createdAt, tables, migrated });
      if (migrated.length > 0) printLine(`Applied ${migrated.join(', ')}.`);
      printCopied('Restored', tables, `of ${createdAt}`);
    });
}

function printCopied(verb: string, tables: readonly CopiedTable[], what: string): void {
  for (const { table, rows } of tables) printLine(`${table}: ${rows}`);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  printLine(`${verb} ${tables.length} tables with ${rows} rows ${what}.`);
}
