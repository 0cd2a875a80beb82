import { DataSource, Migration, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { type AppliedMigration, readApplied } from './applied-migrations';
import { recordAudit } from './audit';
import { type DatabaseConfig, dataSourceOptions, SET_ROLE } from './data-source';
import { isDatabaseUnavailable } from './database-errors';
import { UserError } from '../config/user-error';

interface SchemaMigration {
  readonly name: string;
  /** In milliseconds. */
  readonly timestamp: number;
  /** Undefined for a migration of the store. */
  readonly extension: string | undefined;
  readonly create: new () => MigrationInterface;
}

/** A database, and the migrations that give it the schema of this program, in the order in which they run. */
export interface SchemaConfig extends DatabaseConfig {
  readonly migrations: readonly SchemaMigration[];
}

type Work<T> = (runner: QueryRunner) => Promise<T>;

/** `removed`: of an extension that this program does not have. `newer`: of a newer version of what it has. */
interface MigrationState extends AppliedMigration {
  readonly state: 'applied' | 'pending' | 'removed' | 'newer';
}

const MIN_SERVER_VERSION = 15;

const RUNNING = `SELECT FROM rate_limit_instances WHERE seen_at > clock_timestamp() - interval '10 seconds'`;

/** Identifies our migrations among the advisory locks of a database. */
const MIGRATION_LOCK = 7_263_504_918;

const NOTICE_INTERVAL_MS = 5_000;

/** Removes every timeout of the running transaction; a server ignores those that it does not know. */
export const WITHOUT_TIMEOUTS = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** Makes the changes of the running transaction write no events. */
export const WITHOUT_EVENTS = `SELECT set_config('animal_store.events', 'off', true)`;

/**
 * Applies all pending migrations in one transaction; concurrent instances wait for it.
 *
 * @param keyPrefix of a service, to which the database then belongs
 * @returns the names of the migrations, and the extensions with tables that this program does not have
 * @throws UserError if this program cannot use a newer version's schema, or the database belongs to a service with other
 *   keys
 */
export function migrate(config: SchemaConfig, keyPrefix?: string) {
  return inMigrationTransaction(config, async (runner) => {
    const migrated = await bringUpToDate(config, runner);
    if (keyPrefix !== undefined) await claim(runner, keyPrefix);
    return migrated;
  });
}

/** A database without keys of its owner may change it: after a start with the wrong DEPLOYMENT a right one follows. */
const CLAIM = `
  INSERT INTO deployment (key_prefix) VALUES ($1) ON CONFLICT (is_only) DO UPDATE SET key_prefix =
    CASE WHEN EXISTS (SELECT FROM api_keys WHERE prefix = deployment.key_prefix) THEN deployment.key_prefix ELSE excluded.key_prefix END
  RETURNING key_prefix AS owned`;

async function claim(runner: QueryRunner, keyPrefix: string): Promise<void> {
  const [{ owned } = { owned: '' }]: { owned: string }[] = await runner.query(CLAIM, [keyPrefix]);
  if (owned === keyPrefix) return;
  throw new UserError(
    `The keys of this database begin with ${owned}, and those of this DEPLOYMENT with ${keyPrefix}: correct DEPLOYMENT (production has ask_live_), or use another database.`,
  );
}

/**
 * Reverts the last migration, or every migration of an extension, newest first.
 *
 * @returns their names
 * @throws UserError if a service uses the database, or this program lacks one of them
 */
export function revert(config: SchemaConfig, extension?: string): Promise<string[]> {
  return inMigrationTransaction(config, async (runner) => {
    const applied = await readApplied(runner);
    if (applied.length === 0) return [];
    await rejectUsed(runner);
    rejectNewerSchema(compareSchema(applied, config.migrations));
    const ofExtension = applied.filter((each) => each.extension === extension);
    const reverted = extension === undefined ? applied.slice(-1) : ofExtension.toReversed();
    for (const { name, extension: owner } of reverted) {
      const migration = config.migrations.find((each) => each.name === name);
      if (!migration)
        throw new UserError(
          `The migration ${name} belongs to the extension ${owner}, which this program does not have. Run "db revert --extension ${owner}" with a program that has it.`,
        );
      await recordAudit(runner, { command: 'db revert', details: name });
      await runner.query('DELETE FROM extension_migrations WHERE name = $1', [name]);
      await runner.query('DELETE FROM migrations WHERE name = $1', [name]);
      await withoutDefaultPrivileges(runner, () => new migration.create().down(runner));
    }
    // An empty table of this name is that of another program.
    if (reverted.length === applied.length) await runner.query('DROP TABLE IF EXISTS migrations');
    return reverted.map(({ name }) => name);
  });
}

/**
 * Gives an empty database the schema of a backup, fills it, and applies the later migrations, in one transaction.
 *
 * @param names those of the backup's migrations
 * @returns the names of the later ones
 * @throws UserError if the database is not empty, or a service uses it
 */
export function restoreSchema(config: SchemaConfig, names: readonly string[], fill: Work<void>) {
  return inMigrationTransaction(config, async (runner) => {
    const present = await readApplied(runner);
    if (present.length > 0) {
      await rejectUsed(runner);
      throw new UserError(
        'The database is not empty: rename DATA_DIR, or name an empty database in DATABASE_URL.',
      );
    }
    const older = config.migrations.filter(({ name }) => names.includes(name));
    await applyMigrations(older, runner);
    await fill(runner);
    const { applied } = await bringUpToDate(config, runner);
    // The copy may serve another deployment, such as staging: its first start decides.
    await runner.query('DELETE FROM deployment');
    return applied;
  });
}

/** Protects the schema from `db revert` and `db restore`. @throws UserError if an instance of the service is running */
async function rejectUsed(runner: QueryRunner): Promise<void> {
  const instances: unknown[] = await runner.query(RUNNING);
  if (instances.length === 0) return;
  throw new UserError(
    'A service uses the database, or did so in the last 10 s: stop every instance and try again.',
  );
}

export function migrationStates(config: SchemaConfig): Promise<MigrationState[]> {
  return inMigrationTransaction(config, async (runner) =>
    compareSchema(await readApplied(runner), config.migrations),
  );
}

const RELATIONS =
  'SELECT relname AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace';

export async function relationsOf(config: DatabaseConfig): Promise<string[]> {
  const rows: { name: string }[] = await inMigrationTransaction(config, (runner) => runner.query(RELATIONS));
  return rows.map(({ name }) => name);
}

/**
 * Runs `work` in one transaction while no other process migrates the same database. The connection is its own: those of
 * the service must be opened after a migration has changed the role.
 *
 * @throws UserError if the server is too old, or the database has another encoding than UTF8
 */
async function inMigrationTransaction<T>(config: DatabaseConfig, work: Work<T>): Promise<T> {
  const { extra, ...options } = dataSourceOptions({ ...config, databasePoolSize: 1 });
  // A migration, or the wait for one of another instance, may take longer than a request.
  const source = new DataSource({ ...options, extra: { ...extra, query_timeout: 0 } });
  await source.initialize();
  try {
    return await source.transaction(async ({ queryRunner }) => {
      if (!queryRunner) throw new Error('a transaction has a query runner');
      await rejectUnsuitable(queryRunner);
      await queryRunner.query(WITHOUT_TIMEOUTS);
      const waiting = 'Waiting for another process, which uses the schema…\n';
      const notice = setInterval(() => process.stderr.write(waiting), NOTICE_INTERVAL_MS);
      const locked = queryRunner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      await locked.finally(() => clearInterval(notice));
      return await work(queryRunner);
    });
  } finally {
    await source.destroy();
  }
}

async function rejectUnsuitable(runner: QueryRunner): Promise<void> {
  const [row]: { version: string; encoding: string }[] = await runner.query(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding`,
  );
  // A number such as 180004 for PostgreSQL 18.4.
  const version = Math.floor(Number(row?.version) / 10_000);
  if (version >= MIN_SERVER_VERSION && row?.encoding === 'UTF8') return;
  throw new UserError(
    `The database in DATABASE_URL is of PostgreSQL ${version} with the encoding ${row?.encoding}, and Animal Store needs ${MIN_SERVER_VERSION} or later with UTF8: name one that was created with ENCODING 'UTF8' on such a server.`,
  );
}

/** Records the extension of each migration. */
const RECORD = `
  INSERT INTO extension_migrations (name, extension)
  SELECT * FROM jsonb_to_recordset($1) AS applied (name text, extension text) WHERE extension IS NOT NULL`;

/** Does the work of `migrate` inside the transaction of the caller. */
async function bringUpToDate({ migrations }: SchemaConfig, runner: QueryRunner) {
  const states = compareSchema(await readApplied(runner), migrations);
  // A newer version of the store has added only what this one ignores, unless this one would migrate below it.
  const isBelow = states.some(({ extension, state }) => extension === null && state === 'pending');
  rejectNewerSchema(states.filter(({ extension }) => isBelow || extension !== null));
  // The program's own migrations are the first states, in the same order.
  const pending = migrations.filter((_each, at) => states[at]?.state === 'pending');
  await applyMigrations(pending, runner);
  await runner.query(RECORD, [JSON.stringify(pending)]);
  await runner.query(SET_ROLE);
  const applied = pending.map(({ name }) => name);
  if (applied.length > 0) await recordAudit(runner, { command: 'migrate', details: applied.join(', ') });
  const removed = states.flatMap(({ state, extension }) => (state === 'removed' ? [String(extension)] : []));
  return { applied, removed: [...new Set(removed)] };
}

/** Makes the statements that suspend what other roles get at a creation, and resume it. PUBLIC keeps functions and types. */
const DEFAULT_PRIVILEGES = `
  SELECT concat(scope, ' REVOKE ', privilege_type, ' ON ', kind, ' FROM ', role) AS suspend,
    concat(scope, ' GRANT ', privilege_type, ' ON ', kind, ' TO ', role, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END) AS resume
  FROM pg_default_acl, aclexplode(defaclacl), LATERAL (SELECT
    concat('ALTER DEFAULT PRIVILEGES', ' IN SCHEMA ' || nullif(defaclnamespace, 0)::regnamespace) AS scope,
    CASE defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' WHEN 'T' THEN 'TYPES'
      WHEN 'n' THEN 'SCHEMAS' ELSE 'LARGE OBJECTS' END AS kind,
    coalesce(nullif(grantee, 0)::regrole::text, 'PUBLIC') AS role) AS words
  WHERE defaclrole = quote_ident(current_user)::regrole AND grantee <> defaclrole
    AND (grantee <> 0 OR defaclobjtype NOT IN ('f', 'T'))`;

/** Runs `work` without the default privileges of other roles (decision 41). A rollback resumes them. */
async function withoutDefaultPrivileges(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  const rights: { suspend: string; resume: string }[] = await runner.query(DEFAULT_PRIVILEGES);
  await runner.query(rights.map(({ suspend }) => suspend).join(';'));
  await work();
  await runner.query(rights.map(({ resume }) => resume).join(';'));
}

/** TypeORM would run all of them by time, but the store's must run before those that extend it. */
async function applyMigrations(migrations: readonly SchemaMigration[], runner: QueryRunner) {
  if (migrations.length === 0) return;
  const executor = new MigrationExecutor(runner.dataSource, runner);
  await withoutDefaultPrivileges(runner, async () => {
    for (const { name, timestamp, create, extension } of migrations) {
      const migration = new Migration(undefined, timestamp, name, new create());
      await executor.executeMigration(migration).catch((error: unknown) => {
        const isStatement = 'driverError' in Object(error) && !isDatabaseUnavailable(error);
        if (extension === undefined || !isStatement) throw error;
        throw new UserError(`The migration ${name} fails, so correct it: ${String(error)}.`);
      });
    }
  });
}

/** Lists the migrations of this program, then those that only the database has, each in order. */
function compareSchema(applied: AppliedMigration[], migrations: readonly SchemaMigration[]) {
  const own = migrations.map(({ name, extension = null }): MigrationState => {
    const isApplied = applied.some((each) => each.name === name);
    return { name, extension, state: isApplied ? 'applied' : 'pending' };
  });
  const others = applied.filter(({ name }) => own.every((each) => each.name !== name));
  const statesOfOthers = others.map((other): MigrationState => {
    const isKnown = own.some(({ extension }) => extension === other.extension);
    return { ...other, state: isKnown ? 'newer' : 'removed' };
  });
  return [...own, ...statesOfOthers];
}

/** @throws UserError if a newer version of the store, or of an extension, has migrated the database */
function rejectNewerSchema(states: readonly MigrationState[]): void {
  const newer = states.find(({ state }) => state === 'newer');
  if (!newer) return;
  const owner = newer.extension === null ? 'Animal Store' : `the extension ${newer.extension}`;
  throw new UserError(
    `The database was migrated by a newer version of ${owner} (${newer.name}). Install that version again, or run its "db revert" until this migration is reverted.`,
  );
}
