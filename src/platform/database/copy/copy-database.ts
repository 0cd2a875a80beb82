import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { CopySource, type TableShape } from './copy-source';
import { rejectUnfitTarget } from './copy-target';
import type { DatabaseConfig } from '../data-source';
import { bringUpToDate, inMigrationTransaction, WITHOUT_TIMEOUTS } from '../migrate';
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
  config: DatabaseConfig,
  targetUrl: string,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const source = await CopySource.open(config.databaseUrl);
  try {
    await source.rejectOtherSchema();
    return await inMigrationTransaction({ ...config, databaseUrl: targetUrl }, async (executor, runner) => {
      // TypeORM types the connection as any; the driver is node-postgres.
      const target: Client = await runner.connect();
      await target.query(WITHOUT_TIMEOUTS);
      await rejectUnfitTarget(target);
      await bringUpToDate(executor, runner);
      return await copyAll(source, target, onTable);
    });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw source.isLost ? sourceLost() : new TargetError(error);
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

/** Copies a table in COPY's text format, which does not depend on the versions of the servers. */
async function copyTable(source: Client, target: Client, { table, columns }: TableShape): Promise<void> {
  await pipeline(
    source.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`)),
    target.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`)),
  );
}

/** @throws UserError if the numbers of rows differ */
async function countEqual(source: Client, target: Client, { table }: TableShape): Promise<number> {
  const [before, after] = [await countRows(source, table), await countRows(target, table)];
  if (before === after) return before;
  throw new UserError(
    `The table ${table} has ${before} rows, but ${after} arrived: nothing was copied; look for triggers or rules in the target.`,
  );
}

async function countRows(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  return Number(rows[0]?.count);
}
