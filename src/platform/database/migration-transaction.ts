import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { type DatabaseConfig, dataSourceOptions } from './data-source';

/** A migration of this program. */
export interface SchemaMigration {
  readonly name: string;
  /** In milliseconds, as at the end of its name. */
  readonly timestamp: number;
  /** The extension of a team that it belongs to; undefined for a migration of the store. */
  readonly extension: string | undefined;
  readonly create: new () => MigrationInterface;
}

/** A database, and the migrations that give it the schema of this program, in the order in which they run. */
export interface SchemaConfig extends DatabaseConfig {
  readonly migrations: readonly SchemaMigration[];
}

/** Identifies our migrations among the advisory locks of a database. */
const MIGRATION_LOCK = 7_263_504_918;

/** Removes every timeout of the running transaction; a server ignores those that it does not know. */
export const WITHOUT_TIMEOUTS = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** The oldest major version of PostgreSQL that the service supports. */
export const MIN_SERVER_VERSION = 15;

/** The server is too old. `userMessage` names the setting or option that gave its URL. */
export class OldServerError extends Error {
  constructor(readonly major: number) {
    super(`PostgreSQL ${major} is older than ${MIN_SERVER_VERSION}`);
  }
}

/**
 * Runs `work` in one transaction, on a connection of its own, while no other process migrates the same database.
 *
 * @throws OldServerError
 */
export async function inMigrationTransaction<T>(
  config: DatabaseConfig,
  work: (executor: MigrationExecutor, runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { extra, ...options } = dataSourceOptions({ ...config, databasePoolSize: 1 });
  // A migration, or the wait for one of another instance, may take longer than a request.
  const source = new DataSource({ ...options, extra: { ...extra, query_timeout: 0 } });
  await source.initialize();
  try {
    return await source.transaction(async ({ queryRunner }) => {
      if (!queryRunner) throw new Error('a transaction has a query runner');
      await rejectOldServer(queryRunner);
      await queryRunner.query('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
      await queryRunner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      return await work(new MigrationExecutor(source, queryRunner), queryRunner);
    });
  } finally {
    await source.destroy();
  }
}

async function rejectOldServer(runner: QueryRunner): Promise<void> {
  const major = Math.floor((await serverVersion(runner)) / 10_000);
  if (major < MIN_SERVER_VERSION) throw new OldServerError(major);
}

/** Returns the version as a number, such as 180004 for PostgreSQL 18.4. */
async function serverVersion(runner: QueryRunner): Promise<number> {
  const [row]: { server_version_num: string }[] = await runner.query('SHOW server_version_num');
  return Number(row?.server_version_num);
}
