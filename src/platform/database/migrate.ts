import { Migration, type MigrationExecutor, type QueryRunner } from 'typeorm';
import { recordSchemaAudit } from './audit';
import { STATEMENT_TIMEOUT_MS } from './data-source';
import { explainFailure, readApplied } from './extension-migrations';
import { inMigrationTransaction, type SchemaConfig, type SchemaMigration } from './migration-transaction';
import { recordExtensionMigrations } from './rehearse';
import { compareSchema, rejectNewerSchema, removedExtensions } from './schema-state';
import { UserError } from '../errors/user-error';

/** Bounds of every request's waits in the server. Settings of the role, because poolers reject them at connection. */
const ROLE_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  lock_timeout: '2000ms',
  idle_in_transaction_session_timeout: '10000ms',
};

/** The result of `migrate`. */
export interface MigrationResult {
  /** The names of the migrations that it applied. */
  readonly applied: readonly string[];
  /** The extensions with tables in the database that this program does not have. */
  readonly removed: readonly string[];
}

/**
 * Applies all pending migrations in one transaction; concurrent instances wait for it. Uses a connection of its own:
 * those of the service must be opened after it has set the timeouts of the role.
 *
 * @throws UserError if a newer version has migrated the database, or an extension's migration fails; OldServerError
 */
export function migrate(config: SchemaConfig): Promise<MigrationResult> {
  return inMigrationTransaction(config, (executor, runner) => bringUpToDate(config, executor, runner));
}

/** Does the work of `migrate` inside the transaction of the caller. */
export async function bringUpToDate(
  { migrations }: Pick<SchemaConfig, 'migrations'>,
  executor: MigrationExecutor,
  runner: QueryRunner,
): Promise<MigrationResult> {
  const states = compareSchema(await readApplied(runner), migrations);
  rejectNewerSchema(states);
  const applied = states.flatMap(({ name, state }) => (state === 'pending' ? [name] : []));
  await applyMigrations(migrations, applied, executor);
  await recordExtensionMigrations(runner, migrations);
  await setRoleSettings(runner);
  if (applied.length > 0) {
    await recordSchemaAudit(runner, { command: 'migrate', details: applied.join(', ') });
  }
  return { applied, removed: removedExtensions(states) };
}

/** Applies the migrations with these names, in the order of the program. */
export async function applyMigrations(
  migrations: SchemaConfig['migrations'],
  names: readonly string[],
  executor: MigrationExecutor,
): Promise<void> {
  for (const migration of migrations) {
    if (names.includes(migration.name)) await apply(migration, executor);
  }
}

/** TypeORM runs pending migrations by their timestamps. Those of the store must run before those of an extension. */
async function apply(
  { name, timestamp, extension, create }: SchemaMigration,
  executor: MigrationExecutor,
): Promise<void> {
  const instance = new create();
  const run = () => executor.executeMigration(new Migration(undefined, timestamp, name, instance));
  if (extension === undefined) {
    await run();
    return;
  }
  if (instance.transaction === false) {
    throw new UserError(
      `The migration ${name} of the extension ${extension} sets transaction to false, and all migrations run in one transaction. Remove that line and start again.`,
    );
  }
  await explainFailure(
    (reason) =>
      `The migration ${name} of the extension ${extension} fails (${reason}). Fix it and start again.`,
    run,
  );
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
