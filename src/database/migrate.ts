import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { type DatabaseConfig, dataSourceOptions, STATEMENT_TIMEOUT_MS } from './data-source';
import { migrations } from './migrations';

/** Identifies our migrations among the advisory locks of a database. */
const MIGRATION_LOCK = 7_263_504_918;

/** Waits inside the server that no request may exceed; settings of the role, because poolers refuse them at connection. */
const ROLE_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  lock_timeout: '2000ms',
  idle_in_transaction_session_timeout: '10000ms',
};

/** Takes every limit of time from the running transaction, those included that a newer server may have. */
export const WITHOUT_TIMEOUTS = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** A schema that this version does not know; the message is one sentence for a person. */
export class SchemaError extends Error {}

/** The oldest PostgreSQL that the service is tested with. */
export const OLDEST_SERVER = 15;

/** A server that is too old. The sentence for a person depends on the place where its URL was given. */
export class OldServerError extends Error {
  constructor(readonly major: number) {
    super(`PostgreSQL ${major} is older than ${OLDEST_SERVER}`);
  }
}

/** What `db status` tells of one migration. */
export interface MigrationState {
  readonly name: string;
  readonly isApplied: boolean;
}

/**
 * Brings the schema up to date, in one transaction; of several instances that start at once one does it, the others
 * wait for it. Uses a connection of its own, as those of the service are made under the settings that it leaves behind.
 *
 * @returns the names of the migrations that were applied now
 * @throws SchemaError where the database was migrated by a newer version; OldServerError
 */
export function migrate(config: DatabaseConfig): Promise<string[]> {
  return inMigrationTransaction(config, bringUpToDate);
}

/** What `migrate` does, as a part of a larger transaction. */
export async function bringUpToDate(executor: MigrationExecutor, runner: QueryRunner): Promise<string[]> {
  await refuseNewerSchema(executor);
  const applied = await executor.executePendingMigrations();
  await setRoleSettings(runner);
  return applied.map(({ name }) => name);
}

/** Takes the last migration back. @returns its name, or undefined where none is left */
export function revertLast(config: DatabaseConfig): Promise<string | undefined> {
  return inMigrationTransaction(config, async (executor) => {
    await refuseNewerSchema(executor);
    const [last] = await executor.getExecutedMigrations();
    if (last) await executor.undoLastMigration();
    return last?.name;
  });
}

/** Every migration that this version knows, in order. */
export function migrationStates(config: DatabaseConfig): Promise<MigrationState[]> {
  return inMigrationTransaction(config, async (executor) => {
    const applied = new Set((await executor.getExecutedMigrations()).map(({ name }) => name));
    return migrations.map(({ name }) => ({ name, isApplied: applied.has(name) }));
  });
}

/** Runs `work` in one transaction, on a connection of its own, while no other process migrates the same database. */
export async function inMigrationTransaction<T>(
  config: DatabaseConfig,
  work: (executor: MigrationExecutor, runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { extra, ...options } = dataSourceOptions({ ...config, databasePoolSize: 1 });
  // A migration may take longer than a request, and so may the wait for another instance's.
  const source = new DataSource({ ...options, extra: { ...extra, query_timeout: 0 } });
  await source.initialize();
  try {
    return await source.transaction(async ({ queryRunner }) => {
      if (!queryRunner) throw new Error('a transaction has a query runner');
      await refuseOldServer(queryRunner);
      await queryRunner.query('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
      await queryRunner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      return await work(new MigrationExecutor(source, queryRunner), queryRunner);
    });
  } finally {
    await source.destroy();
  }
}

async function refuseOldServer(runner: QueryRunner): Promise<void> {
  const major = Math.floor((await serverVersion(runner)) / 10_000);
  if (major < OLDEST_SERVER) throw new OldServerError(major);
}

/** Such as 180004 for PostgreSQL 18.4. */
async function serverVersion(runner: QueryRunner): Promise<number> {
  const [row]: { server_version_num: string }[] = await runner.query('SHOW server_version_num');
  return Number(row?.server_version_num);
}

async function refuseNewerSchema(executor: MigrationExecutor): Promise<void> {
  const known = new Set<string>(migrations.map(({ name }) => name));
  const unknown = (await executor.getExecutedMigrations()).find(({ name }) => !known.has(name));
  if (unknown) {
    throw new SchemaError(
      `The database was migrated by a newer version of Animal Store (${unknown.name}): install that version, or use another database.`,
    );
  }
}

/** An account that may not alter its role keeps the client-side timeout alone. */
async function setRoleSettings(runner: QueryRunner): Promise<void> {
  for (const [name, value] of Object.entries(ROLE_SETTINGS)) {
    await runner.query(`
      DO $$ BEGIN
        EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET ${name} = %L', current_database(), '${value}');
      EXCEPTION WHEN insufficient_privilege THEN NULL;
      END $$`);
  }
}
