import type { Command } from 'commander';
import { copyDatabase } from '../database/copy-database';
import { migrate, migrationStates, OLDEST_SERVER, revertLast } from '../database/migrate';
import { databaseUrl } from './arguments';
import { withDatabase, withEmbeddedDatabase } from './context';
import { printLine } from './output';

export function addDbCommands(db: Command): void {
  db.command('migrate')
    .description('bring the schema up to date, as the service does when it starts')
    .action(async () => {
      const applied = await withDatabase(migrate);
      printLine(applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`);
    });
  db.command('revert')
    .description('take the last migration back, and with it the data that it made room for')
    .action(async () => {
      const reverted = await withDatabase(revertLast);
      printLine(reverted === undefined ? 'There is no migration to take back.' : `Took back ${reverted}.`);
    });
  db.command('status')
    .description('every migration, and whether it is applied')
    .action(async () => {
      for (const { name, isApplied } of await withDatabase(migrationStates)) {
        printLine(`${isApplied ? 'applied' : 'pending'}  ${name}`);
      }
    });
  db.command('copy')
    .description('copy everything from the embedded database to an empty one; the service must not run')
    .requiredOption('--to <url>', `URL of an empty database, PostgreSQL ${OLDEST_SERVER} or newer`)
    .action(copy);
}

async function copy({ to }: { readonly to: string }, command: Command): Promise<void> {
  const target = databaseUrl(to, command);
  const copied = await withEmbeddedDatabase((config) =>
    copyDatabase(config, target, ({ table, rows }) => printLine(`${table}: ${rows}`)),
  );
  const total = copied.reduce((sum, { rows }) => sum + rows, 0);
  printLine(
    `Copied ${copied.length} tables with ${total} rows. Start the service with DATABASE_URL set to that database.`,
  );
}
