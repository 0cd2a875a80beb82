import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { WITHOUT_TIMEOUTS } from './migrate';

/** Where rows go: a table, and those of its columns that the rows hold, as they are written in SQL. */
export interface CopyTarget {
  readonly table: string;
  readonly columns: string;
}

/**
 * Adds rows to a table by COPY, in one transaction: all of them or none. It may take longer than a request. Rows are
 * taken no faster than the server stores them.
 *
 * @param rows in COPY's text format: pieces of whole lines
 * @returns how many rows were added
 */
export async function copyIn(
  url: string,
  { table, columns }: CopyTarget,
  rows: Iterable<string>,
): Promise<number> {
  const client = new Client({ connectionString: url });
  // A connection that is lost fails what runs on it; without a listener it would end the process too.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(WITHOUT_TIMEOUTS);
    const sink = copyFrom(`COPY ${table} (${columns}) FROM STDIN`);
    await pipeline(Readable.from(rows, { objectMode: false }), client.query(sink));
    // Otherwise the planner would think for a minute of the table as it was.
    await client.query(`ANALYZE ${table}`);
    await client.query('COMMIT');
    return sink.rowCount;
  } finally {
    // What was not committed is rolled back with its connection.
    await client.end();
  }
}
