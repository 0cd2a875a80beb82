import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { type DatabaseConfig, dataSourceOptions, STATEMENT_TIMEOUT_MS } from './data-source';
import { UserError } from '../errors/user-error';

/** A database, and the migrations that give it the schema of this version, in the order in which they run. */
export interface SchemaConfig extends DatabaseConfig {
  readonly migrations: readonly (new () => MigrationInterface)[];
}

/** Identifies our migrations among the advisory locks of a database. */
const MIGRATION_LOCK = 7_263_504_918;

/** Bounds of every request's waits in the server. Settings of the role, because poolers reject them at connection. */
const ROLE_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  lock_timeout: '2000ms',
  idle_in_transaction_session_timeout: '10000ms',
};

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

/** The state of one migration, for `db status`. */
export interface MigrationState {
  readonly name: string;
  readonly isApplied: boolean;
}

/**
 * Applies all pending migrations in one transaction; concurrent instances wait for it. Uses a connection of its own:
 * those of the service must be opened after it has set the timeouts of the role.
 *
 * @returns the names of the migrations applied by this call
 * @throws UserError if a newer version has migrated the database; OldServerError
 */
export function migrate(config: SchemaConfig): Promise<string[]> {
  return inMigrationTransaction(config, (executor, runner) => bringUpToDate(config, executor, runner));
}

/** Does the work of `migrate` inside the transaction of the caller. */
export async function bringUpToDate(
  { migrations }: Pick<SchemaConfig, 'migrations'>,
  executor: MigrationExecutor,
  runner: QueryRunner,
): Promise<string[]> {
  await rejectNewerSchema(migrations, executor);
  const applied = await executor.executePendingMigrations();
  await setRoleSettings(runner);
  return applied.map(({ name }) => name);
}

/** Reverts the last migration. @returns its name, or undefined if none is left */
export function revertLast(config: SchemaConfig): Promise<string | undefined> {
  return inMigrationTransaction(config, async (executor) => {
    await rejectNewerSchema(config.migrations, executor);
    const [last] = await executor.getExecutedMigrations();
    if (last) await executor.undoLastMigration();
    return last?.name;
  });
}

/** Lists the migrations of this version, in order. */
export function migrationStates(config: SchemaConfig): Promise<MigrationState[]> {
  return inMigrationTransaction(config, async (executor) => {
    const applied = new Set((await executor.getExecutedMigrations()).map(({ name }) => name));
    return config.migrations.map(({ name }) => ({ name, isApplied: applied.has(name) }));
  });
}

/** Runs `work` in one transaction, on a connection of its own, while no other process migrates the same database. */
export async function inMigrationTransaction<T>(
  config: SchemaConfig,
  work: (executor: MigrationExecutor, runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { extra, ...options } = dataSourceOptions({ ...config, databasePoolSize: 1 });
  // A migration, or the wait for one of another instance, may take longer than a request.
  const source = new DataSource({
    ...options,
    migrations: [...config.migrations],
    extra: { ...extra, query_timeout: 0 },
  });
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

async function rejectNewerSchema(
  migrations: SchemaConfig['migrations'],
  executor: MigrationExecutor,
): Promise<void> {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = (await executor.getExecutedMigrations()).find(({ name }) => !known.has(name));
  if (unknown) {
    throw new UserError(
      `The database was migrated by a newer version of Animal Store (${unknown.name}): install that version, or use another database.`,
    );
  }
}

/** Sets the timeouts of the role. A role without the privilege has only the timeouts of the client. */
async function setRoleSettings(runner: QueryRunner): Promise<void> {
  for (const [name, value] of Object.entries(ROLE_SETTINGS)) {
    await runner.query(`
      DO $$ BEGIN
        EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET ${name} = %L', current_database(), '${value}');
      EXCEPTION WHEN insufficient_privilege THEN NULL;
      END $$`);
  }
}
