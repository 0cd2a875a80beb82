import type { QueryRunner } from 'typeorm';
import { isDatabaseUnavailable } from './database-errors';
import type { SchemaMigration } from './migration-transaction';
import { UserError } from '../errors/user-error';

/** A statement that a migration ran. */
export interface MigrationStatement {
  readonly text: string;
  readonly parameters?: readonly unknown[];
}

/** A row of `extension_migrations`: it applies and reverts a migration without the code of its extension. */
export interface ExtensionMigration {
  readonly name: string;
  readonly extension: string;
  readonly up: readonly MigrationStatement[];
  readonly down: readonly MigrationStatement[];
}

/** A migration that the database has. A migration of the store has no record. */
export interface AppliedMigration {
  readonly name: string;
  readonly record: ExtensionMigration | null;
}

/** A connection of TypeORM, or of a copy. */
interface Queryable {
  query<Row extends object>(text: string): Promise<Row[]>;
}

/** Returns the migrations of the database, in the order in which they were applied. */
export async function readApplied(database: Queryable): Promise<AppliedMigration[]> {
  const [exists] = await database.query<{ migrations: boolean; records: boolean }>(`
    SELECT to_regclass('migrations') IS NOT NULL AS migrations,
           to_regclass('extension_migrations') IS NOT NULL AS records`);
  if (!exists?.migrations) return [];
  // Earlier versions have no records.
  if (!exists.records) return database.query('SELECT name, NULL AS record FROM migrations ORDER BY id');
  return database.query(`
    SELECT migrations.name, to_jsonb(extension_migrations) AS record
    FROM migrations LEFT JOIN extension_migrations USING (name) ORDER BY migrations.id`);
}

export async function insertRecord(
  runner: QueryRunner,
  { name, extension, up, down }: ExtensionMigration,
): Promise<void> {
  await runner.query('INSERT INTO extension_migrations (name, extension, up, down) VALUES ($1, $2, $3, $4)', [
    name,
    extension,
    JSON.stringify(up),
    JSON.stringify(down),
  ]);
}

/** Corrects the extension of each record: an extension may have a new name. */
export async function assignRecords(
  runner: QueryRunner,
  migrations: readonly SchemaMigration[],
): Promise<void> {
  await runner.query(
    `UPDATE extension_migrations SET extension = given.extension
     FROM unnest($1::text[], $2::text[]) AS given (name, extension)
     WHERE extension_migrations.name = given.name AND extension_migrations.extension <> given.extension`,
    [migrations.map(({ name }) => name), migrations.map(({ extension }) => extension)],
  );
}

/** Deletes a reverted migration of an extension from both tables. */
export async function deleteMigration(runner: QueryRunner, name: string): Promise<void> {
  await runner.query('DELETE FROM extension_migrations WHERE name = $1', [name]);
  await runner.query('DELETE FROM migrations WHERE name = $1', [name]);
}

/** Applies or reverts a migration by its record. */
export async function runRecorded(
  runner: QueryRunner,
  record: ExtensionMigration,
  direction: 'up' | 'down',
): Promise<void> {
  await explainFailure(
    (reason) =>
      `The recorded "${direction}" of the migration ${record.name} of the extension ${record.extension} fails (${reason}). Nothing was changed. Remove the cause and repeat the command.`,
    async () => {
      for (const { text, parameters } of record[direction]) {
        // Without parameters the text may hold several statements.
        await runner.query(text, parameters && [...parameters]);
      }
    },
  );
}

/**
 * Runs a step of an extension's migration.
 *
 * @throws UserError with `sentence`, unless the database was unavailable
 */
export async function explainFailure<T>(
  sentence: (reason: string) => string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError || isDatabaseUnavailable(error)) throw error;
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UserError(sentence(reason), { cause: error });
  }
}
