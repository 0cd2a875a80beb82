import { Client } from 'pg';
import { WITHOUT_TIMEOUTS } from '../migrate';
import { migrations } from '../migrations';
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
  /** True if the connection has failed. */
  isLost = false;

  private constructor(readonly client: Client) {
    client.on('error', () => {
      this.isLost = true;
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

  /** @throws UserError unless the schema is that of this version, which the target gets */
  async rejectOtherSchema(): Promise<void> {
    const applied = await this.appliedMigrations();
    if (applied.length === 0) {
      throw new UserError('There is nothing to copy: the embedded database is empty (is DATA_DIR right?).');
    }
    const known = migrations.map(({ name }) => name);
    if (known.join() === applied.join()) return;
    const isNewer = applied.some((name) => !known.some((each) => each === name));
    throw new UserError(
      isNewer
        ? 'The embedded database was migrated by a newer version of Animal Store: copy it with that version.'
        : 'The embedded database has the schema of an earlier version: run "db migrate" first.',
    );
  }

  async tables(): Promise<TableShape[]> {
    return (await this.client.query<TableShape>(TABLES)).rows;
  }

  async sequences(): Promise<SequencePosition[]> {
    const { rows } = await this.client.query<{ sequence: string }>(SEQUENCES);
    const positions: SequencePosition[] = [];
    for (const { sequence } of rows) {
      // In pg_sequences last_value is null until the first value is returned.
      const text = `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM ${sequence}`;
      const [position] = (await this.client.query<Omit<SequencePosition, 'sequence'>>(text)).rows;
      if (position) positions.push({ sequence, ...position });
    }
    return positions;
  }

  private async appliedMigrations(): Promise<string[]> {
    const [found] = (await this.client.query(`SELECT 1 FROM pg_class WHERE oid = to_regclass('migrations')`))
      .rows;
    if (!found) return [];
    const { rows } = await this.client.query<{ name: string }>(
      'SELECT name FROM migrations ORDER BY timestamp',
    );
    return rows.map(({ name }) => name);
  }
}
