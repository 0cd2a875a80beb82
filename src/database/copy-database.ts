import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { CopySource, type TableShape } from './copy-source';
import { refuseUnfitTarget } from './copy-target';
import { CopyError, TargetError } from './copy.error';
import type { DatabaseConfig } from './data-source';
import { bringUpToDate, inMigrationTransaction, WITHOUT_TIMEOUTS } from './migrate';

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/**
 * Copies everything to an empty database: the schema by migrating it, every table by COPY, the position of every
 * sequence. One transaction there: whatever fails, the target stays as it was.
 *
 * @param config of the database that is copied; nobody may write to it meanwhile, or those writes are not in the copy
 * @param onTable hears of each table when it has arrived, before the whole is sure
 * @throws CopyError or TargetError
 */
export async function copyDatabase(
  config: DatabaseConfig,
  targetUrl: string,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const source = await CopySource.open(config.databaseUrl);
  try {
    await source.refuseOtherSchema();
    return await inMigrationTransaction({ ...config, databaseUrl: targetUrl }, async (executor, runner) => {
      // Typed any: the connection is that of whichever driver TypeORM has loaded, here node-postgres.
      const target: Client = await runner.connect();
      await target.query(WITHOUT_TIMEOUTS);
      await refuseUnfitTarget(target);
      await bringUpToDate(executor, runner);
      return await copyAll(source, target, onTable);
    });
  } catch (error) {
    if (error instanceof CopyError) throw error;
    throw source.isLost ? sourceLost() : new TargetError(error);
  } finally {
    await source.close();
  }
}

function sourceLost(): CopyError {
  return new CopyError(
    'The embedded database ended in the middle of the copy, and nothing was copied: read its postgres.log, and copy again.',
  );
}

async function copyAll(
  source: CopySource,
  target: Client,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const tables = await source.tables();
  // The migrations have left rows: their own list, at least.
  await target.query(`TRUNCATE ${tables.map(({ table }) => table).join(', ')}`);
  const copied: CopiedTable[] = [];
  for (const shape of tables) {
    await copyTable(source.client, target, shape);
    const arrived = { table: shape.table, rows: await countEqual(source.client, target, shape) };
    copied.push(arrived);
    onTable(arrived);
  }
  for (const { sequence, lastValue, isCalled } of await source.sequences()) {
    await target.query('SELECT setval($1::regclass, $2::bigint, $3)', [sequence, lastValue, isCalled]);
  }
  return copied;
}

/** In the text format, which does not depend on the servers' versions. */
async function copyTable(source: Client, target: Client, { table, columns }: TableShape): Promise<void> {
  await pipeline(
    source.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`)),
    target.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`)),
  );
}

/** @throws CopyError where the two sides do not have the same number of rows */
async function countEqual(source: Client, target: Client, { table }: TableShape): Promise<number> {
  const [before, after] = [await countRows(source, table), await countRows(target, table)];
  if (before === after) return before;
  throw new CopyError(
    `The table ${table} has ${before} rows, but ${after} arrived: nothing was copied; look for triggers or rules in the target.`,
  );
}

async function countRows(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  return Number(rows[0]?.count);
}
