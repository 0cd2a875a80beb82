import { resolve } from 'node:path';
import { backupDatabase } from './backup/backup-database';
import { restoreDatabase } from './backup/restore-database';
import { migrate, migrationStates, revert } from '../database/migrate';
import type { CommandContext } from './context';
import { listOf, type OutputCommand } from './output';

export function addDbCommands(db: OutputCommand, context: CommandContext): void {
  db.command('migrate')
    .description('apply all pending migrations, as the service does at start')
    .prints(async () => {
      const { applied } = await context.withDatabase(migrate, true);
      const isNew = applied.length > 0;
      const text = isNew ? `Applied ${applied.join(', ')}.` : 'The schema is up to date.';
      return { json: { applied }, text };
    });
  db.command('revert')
    .description('revert the last migration; deletes the tables and data that it added')
    .option('--extension <name>', 'revert all migrations of an extension of this program')
    .destroys('This deletes the tables and data that the last migration, or the extension, added.')
    .prints(async ({ extension }: { extension?: string }) => {
      const reverted = await context.withDatabase((config) => revert(config, extension));
      const isEmpty = reverted.length === 0;
      const owner = extension === undefined ? '' : ` of ${extension}`;
      const text = isEmpty ? `There is no migration${owner} to revert.` : `Reverted ${reverted.join(', ')}.`;
      return { json: { reverted }, text };
    });
  db.command('status')
    .description('list all migrations: applied, pending, of a removed extension, or of a newer version')
    .prints(async () => {
      const states = await context.withDatabase(migrationStates);
      return listOf(states, ({ state, name, extension }) => ({ state, name, extension }));
    });
  addFileCommands(db, context);
}

function addFileCommands(db: OutputCommand, context: CommandContext): void {
  db.command('backup <file>')
    .description('write everything in the database to a file; the service may run')
    .prints(async (name: string) => {
      const file = resolve(name);
      const { createdAt, bytes } = await context.withDatabase((config) =>
        backupDatabase(config.databaseUrl, file),
      );
      const text = `Wrote the database as of ${createdAt} to ${file} (${bytes} bytes).`;
      return { json: { file, createdAt, bytes }, text };
    });
  db.command('restore <file>')
    .description('read everything in a backup into an empty database')
    .prints(async (name: string) => {
      const file = resolve(name);
      const { createdAt, migrated } = await restoreDatabase(context.store, file, (work) =>
        context.withDatabase(work, true),
      );
      const applied = migrated.map((each) => `Applied ${each}.\n`).join('');
      const text = `${applied}Restored the database as of ${createdAt}.`;
      return { json: { file, createdAt, migrated }, text };
    });
}
