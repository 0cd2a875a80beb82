import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { type DatabaseConfig, dataSourceOptions } from './data-source';
import { UserError } from '../errors/user-error';

/** A migration of this program. */
export interface SchemaMigration {
  readonly name: string;
  /** In milliseconds, as at the end of its name. */
  readonly timestamp: number;
  /** Undefined for a migration of the store. */
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

/**
 * Runs `work` in one transaction, on a connection of its own, while no other process migrates the same database.
 *
 * @throws UserError if the server is too old
 */
export async function inMigrationTransaction<T>(
  config: DatabaseConfig,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { extra, ...options } = dataSourceOptions({ ...config, databasePoolSize: 1 });
  // A migration, or the wait for one of another instance, may take longer than a request.
  const source = new DataSource({ ...options, extra: { ...extra, query_timeout: 0 } });
  await source.initialize();
  try {
    return await source.transaction(async ({ queryRunner }) => {
      if (!queryRunner) throw new Error('a transaction has a query runner');
      // A number such as 180004 for PostgreSQL 18.4.
      const [row]: { server_version_num: string }[] = await queryRunner.query('SHOW server_version_num');
      const version = Math.floor(Number(row?.server_version_num) / 10_000);
      if (version < MIN_SERVER_VERSION) {
        throw new UserError(
          `The server in DATABASE_URL is PostgreSQL ${version}, and Animal Store needs ${MIN_SERVER_VERSION} or later: upgrade it, or name another.`,
        );
      }
      await queryRunner.query(WITHOUT_TIMEOUTS);
      await queryRunner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      return await work(queryRunner);
    });
  } finally {
    await source.destroy();
  }
}

/** @throws UserError if an instance of the service is registered, which it does every 3 s until it stops */
export async function rejectUsed(runner: QueryRunner): Promise<void> {
  const [table]: { name: string | null }[] = await runner.query(
    `SELECT to_regclass('rate_limit_instances') AS name`,
  );
  if (!table?.name) return;
  const instances: unknown[] = await runner.query(
    `SELECT FROM rate_limit_instances WHERE seen_at > clock_timestamp() - interval '10 seconds'`,
  );
  if (instances.length === 0) return;
  throw new UserError(
    'A service uses the database, or did so in the last 10 s: stop every instance and try again.',
  );
}
