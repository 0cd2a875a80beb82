import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { announced, openConnection } from '../../platform/database/data-source';
import { WITHOUT_TIMEOUTS } from '../../platform/database/migrate';
import { type AppliedMigration, readApplied } from '../../platform/database/schema-states';
import { UserError } from '../../platform/errors/user-error';
import { rejectExisting, writeWholeFile } from './whole-file';

/**
 * A backup is text, compressed by gzip, whose checksum shows damage: JSON lines, and between them the rows of each
 * table in COPY's text format.
 *
 *     {"format":"animal-store-backup","version":2,…}   BackupHeader
 *     {"table":"accounts"}                             for each table of the header, in its order
 *     1\tacme\t…                                       its rows, one on each line
 *     \.                                               the end of its rows
 *     {"rows":{"accounts":1,…},"sequences":[…]}        BackupTotals
 */
export const FORMAT = 'animal-store-backup';
export const FORMAT_VERSION = 2;

/** COPY escapes every backslash in a value, so no row is equal to this line. */
export const END_OF_ROWS = '\\.\n';

export interface BackupHeader {
  readonly format: string;
  readonly version: number;
  readonly program: string;
  /** The time of the snapshot: RFC 3339, UTC. */
  readonly createdAt: string;
  readonly migrations: readonly AppliedMigration[];
  /** The tables and their columns as written in SQL; referenced tables first. */
  readonly tables: readonly { readonly table: string; readonly columns: string }[];
}

export interface BackupTotals {
  readonly rows: Readonly<Record<string, number>>;
  /** `isCalled` is false until the sequence has returned `lastValue`. */
  readonly sequences: readonly {
    readonly sequence: string;
    readonly lastValue: string;
    readonly isCalled: boolean;
  }[];
}

/** False for a table or sequence that triggers fill when its source is restored. */
const IS_KEPT = `coalesce(obj_description(oid, 'pg_class'), '') NOT LIKE 'Derived %'`;

/**
 * Lists every table of the schema, referenced tables first. It reads the catalog, so a new migration needs no change
 * here. Tables with circular references have no order and cannot be restored.
 */
export const TABLES = `
  WITH RECURSIVE
  tables AS (
    SELECT oid, relname FROM pg_class
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND ${IS_KEPT}
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

/** Makes the query for the positions of all sequences. In pg_sequences last_value is null until the first use. */
const SEQUENCES = `
  SELECT string_agg(
    format('SELECT %L AS sequence, last_value::text AS "lastValue", is_called AS "isCalled" FROM %1$s', oid::regclass),
    ' UNION ALL ') AS text
  FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'S' AND ${IS_KEPT}`;

const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${WITHOUT_TIMEOUTS}`;

/**
 * Writes all rows of one snapshot, and the positions of the sequences, to a file. The service may run meanwhile.
 *
 * @param target.program the version of this program
 * @param onProgress receives the share of the rows that were read
 * @throws UserError
 */
export async function backupDatabase(
  databaseUrl: string,
  { path, isReplacing, program }: { path: string; isReplacing: boolean; program: string },
  onProgress: (share: number) => void = () => undefined,
) {
  rejectExisting(path, isReplacing);
  const client = await openConnection(databaseUrl);
  try {
    const header = await beginSnapshot(client, program);
    const tables: { table: string; rows: number }[] = [];
    const text = backupText(client, header, tables, onProgress);
    const bytes = await writeWholeFile(path, (file) => pipeline(text, createGzip(), file));
    return { createdAt: header.createdAt, bytes, tables };
  } finally {
    await client.end();
  }
}

/** @throws UserError if the database is empty */
async function beginSnapshot(client: Client, program: string): Promise<BackupHeader> {
  await client.query(BEGIN);
  const migrations = await readApplied({ query: async (text) => (await client.query(text)).rows });
  if (migrations.length === 0) {
    throw new UserError('There is nothing to back up: the database is empty (is DATA_DIR right?).');
  }
  const { rows: tables } = await client.query<BackupHeader['tables'][number]>(TABLES);
  // A migration that changes one of them waits until the end of the transaction.
  const lock = `LOCK TABLE ${tables.map(({ table }) => table).join(', ')} IN ACCESS SHARE MODE`;
  await announced('a transaction that has locked a table', client.query(lock));
  const createdAt = new Date().toISOString();
  return { format: FORMAT, version: FORMAT_VERSION, program, createdAt, migrations, tables };
}

/** @param copied receives each table */
async function* backupText(
  client: Client,
  header: BackupHeader,
  copied: { table: string; rows: number }[],
  onProgress: (share: number) => void,
): AsyncGenerator<Buffer | string> {
  yield jsonLine(header);
  const counts = header.tables.map(({ table }) => `(SELECT count(*) FROM ${table})`);
  const [total] = (await client.query<{ rows: number }>(`SELECT (${counts.join(' + ')})::float8 AS rows`))
    .rows;
  let read = 0;
  for (const { table, columns } of header.tables) {
    yield jsonLine({ table });
    const rows = client.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`));
    const before = read;
    yield* countLines(rows, (lines) => onProgress((read = before + lines) / (total?.rows ?? read)));
    yield END_OF_ROWS;
    // The number of rows arrives after the last row, and before the response to the next query.
    await client.query('');
    copied.push({ table, rows: rows.rowCount });
  }
  const rows = Object.fromEntries(copied.map((each) => [each.table, each.rows]));
  // Sequences are not part of a snapshot. Read last, they are never behind the rows.
  const totals: BackupTotals = { rows, sequences: await readSequences(client) };
  yield jsonLine(totals);
}

export async function readSequences(client: Client): Promise<BackupTotals['sequences']> {
  const [sequences] = (await client.query<{ text: string }>(SEQUENCES)).rows;
  return (await client.query(sequences?.text ?? '')).rows;
}

/** Passes text on. @param onLines receives the number of lines so far */
export async function* countLines(
  text: AsyncIterable<Buffer>,
  onLines: (lines: number) => void,
): AsyncGenerator<Buffer> {
  let lines = 0;
  for await (const chunk of text) {
    for (let at = -1; (at = chunk.indexOf('\n', at + 1)) >= 0;) lines += 1;
    onLines(lines);
    yield chunk;
  }
}

function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
