import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client, type QueryResultRow } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { type ExtensionMigration, readApplied } from '../extension-migrations';
import { type SchemaConfig, WITHOUT_TIMEOUTS } from '../migration-transaction';
import { compareSchema, rejectNewerSchema } from '../schema-state';
import { UserError } from '../../errors/user-error';

/** A table and its columns, as written in SQL. */
export interface TableShape {
  readonly table: string;
  readonly columns: string;
}

/** The position of a sequence; `isCalled` is false until it has returned `lastValue`. */
export interface SequencePosition {
  readonly sequence: string;
  readonly lastValue: string;
  readonly isCalled: boolean;
}

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

/** The source database: one read-only connection with the snapshot of its first query. */
export class CopySource {
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

  /** Writes the rows of a table to `sink` in COPY's text format, which does not depend on the server's version. */
  async writeRows({ table, columns }: TableShape, sink: Writable): Promise<void> {
    const rows = this.client.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`));
    // If the sink fails, it is destroyed first, and `pipeline` then destroys `rows` with the same error.
    rows.once('error', () => {
      this.hasFailed ||= !sink.destroyed;
    });
    await pipeline(rows, sink);
  }

  /**
   * Returns the migrations of removed extensions, which the target gets from their records.
   *
   * @param migrations those of this program, which the target gets, too
   * @throws UserError unless the source has them all and no newer one
   */
  async removedMigrations(migrations: SchemaConfig['migrations']): Promise<ExtensionMigration[]> {
    const applied = await readApplied(this);
    if (applied.length === 0) {
      throw new UserError('There is nothing to copy: the embedded database is empty (is DATA_DIR right?).');
    }
    const states = compareSchema(applied, migrations);
    rejectNewerSchema(states);
    if (states.some(({ state }) => state === 'pending')) {
      throw new UserError(
        'The embedded database has the schema of an earlier version: run "db migrate" first.',
      );
    }
    const known = new Set(migrations.map(({ name }) => name));
    return applied.flatMap(({ name, record }) => (record && !known.has(name) ? [record] : []));
  }

  tables(): Promise<TableShape[]> {
    return this.query(TABLES);
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
