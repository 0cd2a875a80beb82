import { BackupFile } from './backup-file';
import type { BackupHeader } from './backup-format';
import { type CopiedTable, fillDatabase, type FilledDatabase } from '../copy/fill-database';
import type { SchemaConfig } from '../migration-transaction';
import { compareSchema, newerMigration } from '../schema-state';
import { UserError } from '../../errors/user-error';

export interface RestoredBackup extends FilledDatabase {
  /** The time of the backup's snapshot. */
  readonly createdAt: string;
}

/**
 * Restores a backup to an empty database, in one transaction. Checks the whole file first. Applies the migrations
 * that are newer than the backup.
 *
 * @param onTable is called when a table is restored, before the commit
 * @throws UserError
 */
export async function restoreDatabase(
  config: SchemaConfig,
  path: string,
  onTable: (copied: CopiedTable) => void,
): Promise<RestoredBackup> {
  const backup = await BackupFile.open(path);
  try {
    rejectNewerBackup(backup.header, config.migrations);
    const filled = await fillDatabase(config, 'The database', backup, onTable);
    return { createdAt: backup.header.createdAt, ...filled };
  } finally {
    backup.close();
  }
}

function rejectNewerBackup({ migrations, program }: BackupHeader, known: SchemaConfig['migrations']): void {
  const newer = newerMigration(compareSchema(migrations, known));
  if (!newer) return;
  throw new UserError(
    `The backup was written by Animal Store ${program} and has the migration ${newer.name} of a newer version of ${newer.owner}: restore it with that version.`,
  );
}
