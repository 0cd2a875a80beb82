import type { Command } from 'commander';
import { copyDatabase } from '../platform/database/copy/copy-database';
import { migrate } from '../platform/database/migrate';
import { MIN_SERVER_VERSION } from '../platform/database/migration-transaction';
import { forgetExtension, revertLast } from '../platform/database/revert';
import { migrationStates } from '../platform/database/schema-state';
import { databaseUrl } from './arguments';
import type { CommandContext } from './context';
import { printLine } from './output';

export function addDbCommands(db: Command, context: CommandContext): void {
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
        printLine(
          `${state.padEnd('applied'.length)}  ${name}${extension === undefined ? '' : ` (${extension})`}`,
        );
      }
    });
  db.command('forget <name>')
    .description('revert all migrations of an extension; deletes the tables and data that they added')
    .action((name) => forget(name, context));
  db.command('copy')
    .description('copy everything from the embedded database to an empty one; the service must be stopped')
    .requiredOption('--to <url>', `URL of an empty database, PostgreSQL ${MIN_SERVER_VERSION} or newer`)
    .action((options, command) => copy(options, command, context));
}

async function forget(name: string, context: CommandContext): Promise<void> {
  const reverted = await context.withDatabase((config) => forgetExtension(config, name));
  printLine(`Reverted ${reverted.join(', ')}.`);
  if (context.store.migrations.some(({ extension }) => extension === name)) {
    printLine(`This program has the extension ${name}: its next start applies the migrations again.`);
  }
}

async function copy(
  { to }: { readonly to: string },
  command: Command,
  context: CommandContext,
): Promise<void> {
  const target = databaseUrl(to, command);
  const copied = await context.withEmbeddedDatabase((config) =>
    copyDatabase(config, target, ({ table, rows }) => printLine(`${table}: ${rows}`)),
  );
  const total = copied.reduce((sum, { rows }) => sum + rows, 0);
  printLine(
    `Copied ${copied.length} tables with ${total} rows. Start the service with DATABASE_URL set to that database.`,
  );
}
