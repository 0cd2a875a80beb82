import { CopySource } from './copy-source';
import { type CopiedTable, fillDatabase } from './fill-database';
import type { AppliedMigration } from '../extension-migrations';
import type { SchemaConfig } from '../migration-transaction';
import { compareSchema, rejectNewerSchema } from '../schema-state';
import { UserError } from '../../errors/user-error';

/** An error of the target database, or of its connection, in `cause`. */
export class TargetError extends Error {
  constructor(override readonly cause: unknown) {
    super('the copy failed', { cause });
  }
}

/**
 * Copies a database to an empty one, in one transaction of the target.
 *
 * @param config the source; later writes to it are not in the copy
 * @param onTable is called when a table is copied, before the commit
 * @throws UserError or TargetError
 */
export async function copyDatabase(
  config: SchemaConfig,
  targetUrl: string,
  onTable: (copied: CopiedTable) => void,
): Promise<readonly CopiedTable[]> {
  const source = await CopySource.open(config.databaseUrl);
  try {
    rejectUnfitSource(await source.migrations(), config.migrations);
    const target = { ...config, databaseUrl: targetUrl };
    const { tables } = await fillDatabase(target, 'The database in --to', source, onTable);
    return tables;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw source.hasFailed ? sourceLost() : new TargetError(error);
  } finally {
    await source.close();
  }
}

/** @throws UserError unless the source has all migrations of this program and no newer one */
function rejectUnfitSource(
  applied: readonly AppliedMigration[],
  migrations: SchemaConfig['migrations'],
): void {
  if (applied.length === 0) {
    throw new UserError('There is nothing to copy: the embedded database is empty (is DATA_DIR right?).');
  }
  const states = compareSchema(applied, migrations);
  rejectNewerSchema(states);
  if (states.some(({ state }) => state === 'pending')) {
    throw new UserError(
      'The embedded database has the schema of an earlier version: run "db migrate" first.',
    );
  }
}

function sourceLost(): UserError {
  return new UserError(
    'The embedded database stopped during the copy, and nothing was copied: read its postgres.log, and copy again.',
  );
}
