import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { MigrationExecutor, QueryRunner } from 'typeorm';
import { rejectUnfitTarget } from './copy-target';
import type { RowSource, TableShape } from './row-source';
import { type AppliedMigration, runRecorded } from '../extension-migrations';
import { applyMigrations, bringUpToDate } from '../migrate';
import { inMigrationTransaction, type SchemaConfig, WITHOUT_TIMEOUTS } from '../migration-transaction';
import { UserError } from '../../errors/user-error';

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/** The content that a database has got. */
export interface FilledDatabase {
  readonly tables: readonly CopiedTable[];
  /** The names of the migrations that the source did not have. */
  readonly migrated: readonly string[];
}

/**
 * Fills an empty database: the schema by the source's migrations, every table by COPY, the position of every
 * sequence, then the migrations that the source does not have. It is one transaction: after any failure the database
 * is unchanged.
 *
 * @param target the database; its `migrations` include those of the source, except those with a record
 * @param place names the database in sentences for the operator
 * @param onTable is called when a table is filled, before the commit
 * @throws UserError if the database is not empty
 */
export function fillDatabase(
  target: SchemaConfig,
  place: string,
  source: RowSource,
  onTable: (copied: CopiedTable) => void,
): Promise<FilledDatabase> {
  return inMigrationTransaction(target, async (executor, runner) => {
    // TypeORM types the connection as any; the driver is node-postgres.
    const client: Client = await runner.connect();
    await client.query(WITHOUT_TIMEOUTS);
    await rejectUnfitTarget(client, place);
    await createTables(await source.migrations(), target, executor, runner);
    const tables = await copyAll(source, client, onTable);
    // A migration cannot change a table with unchecked rows.
    await client.query('SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED');
    const { applied } = await bringUpToDate(target, executor, runner);
    return { tables, migrated: applied };
  });
}

/** Migrations of removed extensions are applied by their records. */
async function createTables(
  applied: readonly AppliedMigration[],
  { migrations }: SchemaConfig,
  executor: MigrationExecutor,
  runner: QueryRunner,
): Promise<void> {
  const known = new Set(migrations.map(({ name }) => name));
  const names = applied.map(({ name }) => name);
  await applyMigrations(migrations, names, executor);
  for (const { name, record } of applied) {
    if (record && !known.has(name)) await runRecorded(runner, record, 'up');
  }
}

async function copyAll(
  source: RowSource,
  target: Client,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const tables = await source.tables();
  await rejectUnknownTables(tables, target);
  // The migrations have added rows, such as their own list.
  await target.query(`TRUNCATE ${tables.map(({ table }) => table).join(', ')}`);
  const copied: CopiedTable[] = [];
  for (const shape of tables) {
    const { table, columns } = shape;
    await source.writeRows(shape, target.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`)));
    const arrived = { table, rows: await countEqual(source, target, table) };
    copied.push(arrived);
    onTable(arrived);
  }
  for (const { sequence, lastValue, isCalled } of await source.sequences()) {
    await target.query('SELECT setval($1::regclass, $2::bigint, $3)', [sequence, lastValue, isCalled]);
  }
  return copied;
}

/** @throws UserError if the migrations have not created one of the tables */
async function rejectUnknownTables(tables: readonly TableShape[], target: Client): Promise<void> {
  const { rows } = await target.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS given (name) WHERE to_regclass(name) IS NULL',
    [tables.map(({ table }) => table)],
  );
  if (!rows[0]) return;
  throw new UserError(
    `No migration creates the table ${rows[0].name}: nothing was copied. In the source, move it to another schema, and repeat.`,
  );
}

/** @throws UserError if the numbers of rows differ */
async function countEqual(source: RowSource, target: Client, table: string): Promise<number> {
  const before = await source.countRows(table);
  const { rows } = await target.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  const after = Number(rows[0]?.count);
  if (before === after) return before;
  throw new UserError(
    `The table ${table} has ${before} rows, but ${after} arrived: nothing was copied; look for triggers or rules in the target.`,
  );
}
