import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client, type QueryResultRow } from 'pg';
import { to as copyTo, type CopyToStreamQuery } from 'pg-copy-streams';
import { type AppliedMigration, readApplied } from '../extension-migrations';
import { WITHOUT_TIMEOUTS } from '../migration-transaction';
import type { RowSource, SequencePosition, TableShape } from './row-source';

/**
 * Lists every table of the schema, referenced tables first. It reads the catalog, so a new migration needs no change
 * here. Tables with circular references have no order and cannot be copied.
 */
const TABLES = `
  WITH RECURSIVE
  tables AS (
    SELECT oid, relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  ),
  levels AS (
    SELECT oid, 0 AS level FROM tables
    UNION
    SELECT reference.conrelid, level + 1
    FROM levels JOIN pg_constraint reference ON reference.confrelid = levels.oid
    WHERE reference.contype = 'f' AND reference.conrelid <> reference.confrelid
      AND level < (SELECT count(*) FROM tables)
  )
  SELECT quote_ident(relname) AS table,
         (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
          WHERE attrelid = tables.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns
  FROM tables JOIN levels USING (oid)
  GROUP BY tables.oid, relname ORDER BY max(level), relname`;

const SEQUENCES = `
  SELECT quote_ident(relname) AS sequence FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' ORDER BY relname`;

/** Makes the text of every value independent of the settings of the role and the database. */
const EXACT_TEXT = `
  SET LOCAL DateStyle = ISO; SET LOCAL IntervalStyle = postgres; SET LOCAL bytea_output = hex;
  SET LOCAL extra_float_digits = 3`;

/** The source database: one read-only connection with the snapshot of its first query. */
export class CopySource implements RowSource {
  /** True if the connection or a query has failed. */
  hasFailed = false;

  private constructor(private readonly client: Client) {
    client.on('error', () => {
      this.hasFailed = true;
    });
  }

  static async open(url: string): Promise<CopySource> {
    const client = new Client({ connectionString: url });
    const source = new CopySource(client);
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(WITHOUT_TIMEOUTS);
    await client.query(EXACT_TEXT);
    return source;
  }

  close(): Promise<void> {
    return this.client.end();
  }

  async query<Row extends QueryResultRow>(text: string): Promise<Row[]> {
    try {
      return (await this.client.query<Row>(text)).rows;
    } catch (error) {
      // When the server ends a session, the query fails before the connection does.
      this.hasFailed = true;
      throw error;
    }
  }

  async writeRows(shape: TableShape, sink: Writable): Promise<void> {
    const rows = this.client.query(copyRows(shape));
    // If the sink fails, it is destroyed first, and `pipeline` then destroys `rows` with the same error.
    rows.once('error', () => {
      this.hasFailed ||= !sink.destroyed;
    });
    await pipeline(rows, sink);
  }

  /** Returns the migrations of the source, in the order in which they were applied. */
  migrations(): Promise<AppliedMigration[]> {
    return readApplied(this);
  }

  /** Yields the rows of a table in COPY's text format. A caller that stops reading must close the source. */
  async *readRows(shape: TableShape): AsyncGenerator<Buffer> {
    const rows = this.client.query(copyRows(shape));
    // An error after the last read would end the process.
    rows.on('error', () => undefined);
    const chunks: AsyncIterator<Buffer> = rows[Symbol.asyncIterator]();
    for (;;) {
      // A failure of the reader throws at `yield`, and is not one of the source.
      const next = await chunks.next().catch((error: unknown) => {
        this.hasFailed = true;
        throw error;
      });
      if (next.done) return;
      yield next.value;
    }
  }

  tables(): Promise<TableShape[]> {
    return this.query(TABLES);
  }

  /** Lists every table. Until the end of the transaction a migration that changes one of them waits. */
  async lockTables(): Promise<TableShape[]> {
    const tables = await this.tables();
    await this.query(`LOCK TABLE ${tables.map(({ table }) => table).join(', ')} IN ACCESS SHARE MODE`);
    return tables;
  }

  /** Returns the time of the snapshot: RFC 3339, UTC. */
  async snapshotTime(): Promise<string> {
    const [row] = await this.query<{ at: Date }>('SELECT now() AS at');
    return row?.at.toISOString() ?? '';
  }

  async countRows(table: string): Promise<number> {
    const [row] = await this.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
    return Number(row?.count);
  }

  async sequences(): Promise<SequencePosition[]> {
    const positions: SequencePosition[] = [];
    for (const { sequence } of await this.query<{ sequence: string }>(SEQUENCES)) {
      // In pg_sequences last_value is null until the first value is returned.
      const text = `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM ${sequence}`;
      const [position] = await this.query<Omit<SequencePosition, 'sequence'>>(text);
      if (position) positions.push({ sequence, ...position });
    }
    return positions;
  }
}

/** COPY's text format does not depend on the server's version. */
function copyRows({ table, columns }: TableShape): CopyToStreamQuery {
  return copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`);
}
