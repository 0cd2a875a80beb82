import { lstatSync } from 'node:fs';
import { FORMAT, FORMAT_VERSION, type BackupHeader } from './backup-format';
import { backupText } from './backup-text';
import { writeWholeFile } from './whole-file';
import { CopySource } from '../copy/copy-source';
import type { CopiedTable } from '../copy/fill-database';
import type { SchemaConfig } from '../migration-transaction';
import { compareSchema, rejectNewerSchema } from '../schema-state';
import { codeOf, UserError } from '../../errors/user-error';

/** The file that a backup writes. */
export interface BackupTarget {
  readonly path: string;
  /** True if it may replace an existing file. */
  readonly isReplacing: boolean;
  /** The version of this program. */
  readonly program: string;
}

export interface WrittenBackup {
  readonly createdAt: string;
  readonly bytes: number;
  readonly tables: readonly CopiedTable[];
}

/**
 * Writes all rows of one snapshot, and the positions of the sequences, to a file. The service may run meanwhile.
 *
 * @param onTable is called when all rows of a table are read
 * @throws UserError
 */
export async function backupDatabase(
  config: SchemaConfig,
  { path, isReplacing, program }: BackupTarget,
  onTable: (copied: CopiedTable) => void,
): Promise<WrittenBackup> {
  const source = await CopySource.open(config.databaseUrl);
  try {
    rejectUnfitPath(path, isReplacing);
    const header = await headerOf(source, config, program);
    const tables: CopiedTable[] = [];
    const text = backupText(source, header, (copied) => {
      tables.push(copied);
      onTable(copied);
    });
    const bytes = await writeWholeFile(path, text);
    return { createdAt: header.createdAt, bytes, tables };
  } catch (error) {
    throw explain(error, source, path);
  } finally {
    await source.close();
  }
}

/** @throws UserError if the backup would replace a link or a device, or a file without `isReplacing` */
function rejectUnfitPath(path: string, isReplacing: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isFile()) throw new UserError(`${path} is not a regular file: give another name.`);
  if (isReplacing) return;
  throw new UserError(`The file ${path} exists: give another name, or replace it with --force.`);
}

/** @throws UserError if the database is empty, or a newer version has migrated it */
async function headerOf(
  source: CopySource,
  { migrations: known }: SchemaConfig,
  program: string,
): Promise<BackupHeader> {
  const migrations = await source.migrations();
  if (migrations.length === 0) {
    throw new UserError('There is nothing to back up: the database is empty (is DATA_DIR right?).');
  }
  rejectNewerSchema(compareSchema(migrations, known));
  const tables = await source.lockTables();
  const createdAt = await source.snapshotTime();
  return { format: FORMAT, version: FORMAT_VERSION, program, createdAt, migrations, tables };
}

function explain(error: unknown, { hasFailed }: CopySource, path: string): unknown {
  if (error instanceof UserError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (hasFailed) {
    return new UserError(
      `The database failed during the backup (${reason}): no file was written. Repeat it.`,
    );
  }
  const isOfFile = error instanceof Error && 'syscall' in error;
  if (!isOfFile) return error;
  return new UserError(
    `The file ${path} cannot be written (${codeOf(error)}): give a file in an existing folder that this user may write, with enough space.`,
  );
}
