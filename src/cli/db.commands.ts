import { resolve } from 'node:path';
import type { Command } from 'commander';
import { version } from '../app/store';
import { backupDatabase } from '../platform/database/backup/backup-database';
import { restoreDatabase } from '../platform/database/backup/restore-database';
import { copyDatabase } from '../platform/database/copy/copy-database';
import type { CopiedTable } from '../platform/database/copy/fill-database';
import { migrate } from '../platform/database/migrate';
import { MIN_SERVER_VERSION } from '../platform/database/migration-transaction';
import { openEmbeddedExclusively } from '../platform/database/open-database';
import { forgetExtension, revertLast } from '../platform/database/revert';
import { migrationStates } from '../platform/database/schema-state';
import { databaseUrl } from './arguments';
import type { CommandContext } from './context';
import { JSON_OPTION, printJson, printLine } from './output';

export function addDbCommands(db: Command, context: CommandContext): void {
  addSchemaCommands(db, context);
  addCopyCommands(db, context);
}

function addSchemaCommands(db: Command, context: CommandContext): void {
  db.command('migrate')
    .description('apply all pending migrations, as the service does at start')
    .action(async () => {
      const { applied } = await context.withDatabase(migrate);
      printLine(applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`);
    });
  db.command('revert')
    .description('revert the last migration; deletes the tables and data that it added')
    .action(async () => {
      const reverted = await context.withDatabase(revertLast);
      printLine(reverted === undefined ? 'There is no migration to revert.' : `Reverted ${reverted}.`);
    });
  db.command('status')
    .description('list all migrations: applied, pending, of a removed extension, or of a newer version')
    .action(async () => {
      for (const { name, state, extension } of await context.withDatabase(migrationStates)) {
        const owner = extension === undefined ? '' : ` (${extension})`;
        printLine(`${state.padEnd('applied'.length)}  ${name}${owner}`);
      }
    });
  db.command('forget <name>')
    .description('revert all migrations of an extension; deletes the tables and data that they added')
    .action(async (name) => {
      const reverted = await context.withDatabase((config) => forgetExtension(config, name));
      printLine(`Reverted ${reverted.join(', ')}.`);
      if (context.store.migrations.some(({ extension }) => extension === name)) {
        printLine(`This program has the extension ${name}: its next start applies the migrations again.`);
      }
    });
}

function addCopyCommands(db: Command, context: CommandContext): void {
  db.command('copy')
    .description('copy everything from the embedded database to an empty one; the service must be stopped')
    .requiredOption('--to <url>', `URL of an empty database, PostgreSQL ${MIN_SERVER_VERSION} or newer`)
    .action(async ({ to }, command) => {
      const target = databaseUrl(to, command);
      const copied = await context.withDatabase(
        (config) => copyDatabase(config, target, printTable),
        openEmbeddedExclusively,
      );
      printLine(`Copied ${summary(copied)}. Start the service with DATABASE_URL set to that database.`);
    });
  db.command('backup <file>')
    .description('write everything in the database to a file; the service may run')
    .option('--force', 'replace an existing file')
    .option(...JSON_OPTION)
    .action(async (name: string, { force = false, json }) => {
      const file = resolve(name);
      const request = { path: file, isReplacing: force, program: version };
      const { createdAt, bytes, tables } = await context.withDatabase((config) =>
        backupDatabase(config, request, json ? ignore : printTable),
      );
      if (json) printJson({ file, createdAt, bytes, tables });
      else printLine(`Wrote ${summary(tables)} to ${file} (${bytes} bytes).`);
    });
  db.command('restore <file>')
    .description('read everything in a backup into an empty database')
    .option(...JSON_OPTION)
    .action(async (name: string, { json }) => {
      const file = resolve(name);
      const { createdAt, tables, migrated } = await context.withDatabase((config) =>
        restoreDatabase(config, file, json ? ignore : printTable),
      );
      if (json) return printJson({ file, createdAt, tables, migrated });
      if (migrated.length > 0) printLine(`Applied ${migrated.join(', ')}.`);
      printLine(`Restored ${summary(tables)} of ${createdAt}.`);
    });
}

const ignore = (): void => undefined;

function printTable({ table, rows }: CopiedTable): void {
  printLine(`${table}: ${rows}`);
}

function summary(tables: readonly CopiedTable[]): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${tables.length} tables with ${rows} rows`;
}
