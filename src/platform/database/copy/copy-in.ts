import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { WITHOUT_TIMEOUTS } from '../migration-transaction';

/** A table, and its columns in the order of the rows' values, as written in SQL. */
export interface CopyTarget {
  readonly table: string;
  readonly columns: string;
}

/**
 * Adds rows to a table by COPY, in one transaction without timeouts. Rows are read only as fast as the server stores
 * them.
 *
 * @param rows in COPY's text format, in chunks of whole lines
 * @returns the number of added rows
 */
export async function copyIn(
  url: string,
  { table, columns }: CopyTarget,
  rows: Iterable<string>,
): Promise<number> {
  const client = new Client({ connectionString: url });
  // A lost connection rejects the running query; without a listener it would also end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(WITHOUT_TIMEOUTS);
    const sink = copyFrom(`COPY ${table} (${columns}) FROM STDIN`);
    await pipeline(Readable.from(rows, { objectMode: false }), client.query(sink));
    // Without it the planner uses the old statistics until autovacuum runs.
    await client.query(`ANALYZE ${table}`);
    await client.query('COMMIT');
    return sink.rowCount;
  } finally {
    // The server rolls back what was not committed.
    await client.end();
  }
}
