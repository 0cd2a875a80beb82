import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { CopySource } from './copy-source';
import { rejectUnfitTarget } from './copy-target';
import { runRecorded } from '../extension-migrations';
import { bringUpToDate } from '../migrate';
import { inMigrationTransaction, type SchemaConfig, WITHOUT_TIMEOUTS } from '../migration-transaction';
import { UserError } from '../../errors/user-error';

/** An error of the target database, or of its connection, in `cause`. */
export class TargetError extends Error {
  constructor(override readonly cause: unknown) {
    super('the copy failed', { cause });
  }
}

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/**
 * Copies a database to an empty one: the schema by migrations, every table by COPY, the position of every sequence.
 * It is one transaction in the target: after any failure the target is unchanged.
 *
 * @param config the source; later writes to it are not in the copy
 * @param onTable is called when a table is copied, before the commit
 * @throws UserError or TargetError
 */
export async function copyDatabase(
  config: SchemaConfig,
  targetUrl: string,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const source = await CopySource.open(config.databaseUrl);
  try {
    const removed = await source.removedMigrations(config.migrations);
    return await inMigrationTransaction({ ...config, databaseUrl: targetUrl }, async (executor, runner) => {
      // TypeORM types the connection as any; the driver is node-postgres.
      const target: Client = await runner.connect();
      await target.query(WITHOUT_TIMEOUTS);
      await rejectUnfitTarget(target);
      await bringUpToDate(config, executor, runner);
      for (const record of removed) await runRecorded(runner, record, 'up');
      return await copyAll(source, target, onTable);
    });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw source.hasFailed ? sourceLost() : new TargetError(error);
  } finally {
    await source.close();
  }
}

function sourceLost(): UserError {
  return new UserError(
    'The embedded database stopped during the copy, and nothing was copied: read its postgres.log, and copy again.',
  );
}

async function copyAll(
  source: CopySource,
  target: Client,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const tables = await source.tables();
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

/** @throws UserError if the numbers of rows differ */
async function countEqual(source: CopySource, target: Client, table: string): Promise<number> {
  const count = `SELECT count(*) FROM ${table}`;
  const [inSource] = await source.query<{ count: string }>(count);
  const [inTarget] = (await target.query<{ count: string }>(count)).rows;
  const [before, after] = [Number(inSource?.count), Number(inTarget?.count)];
  if (before === after) return before;
  throw new UserError(
    `The table ${table} has ${before} rows, but ${after} arrived: nothing was copied; look for triggers or rules in the target.`,
  );
}
