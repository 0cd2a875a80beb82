import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { version } from '../../app/store';
import { withConnection } from '../connection';
import { WITHOUT_TIMEOUTS } from '../../database/migrate';
import { type AppliedMigration, readApplied } from '../../database/applied-migrations';
import { isDatabaseUnavailable } from '../../database/database-errors';
import { codeOf, UserError } from '../../config/user-error';

/**
 * A backup is text, compressed by gzip, whose checksum shows damage: JSON lines, and between them the rows of each
 * table in COPY's text format.
 *
 *     {"format":"animal-store-backup","version":2,…}   BackupHeader
 *     {"table":"accounts"}                             for each table of the header, in its order
 *     1\tacme\t…                                       its rows, one on each line
 *     \.                                               the end of its rows
 *     {"sequences":[…]}                                BackupFooter
 */
export const FORMAT = 'animal-store-backup';
export const FORMAT_VERSION = 2;

/** COPY escapes every backslash in a value, so no row is equal to this line. */
export const END_OF_ROWS = '\\.\n';

export interface BackupHeader {
  readonly format: string;
  readonly version: number;
  /** The version of the program. */
  readonly program: string;
  /** The time of the snapshot: RFC 3339, UTC. */
  readonly createdAt: string;
  readonly migrations: readonly AppliedMigration[];
  /** The tables and their columns as written in SQL; referenced tables first. */
  readonly tables: readonly { readonly table: string; readonly columns: string }[];
}

export interface BackupFooter {
  /** `isCalled` is false until the sequence has returned `lastValue`. */
  readonly sequences: readonly {
    readonly sequence: string;
    readonly lastValue: string;
    readonly isCalled: boolean;
  }[];
}

/**
 * Lists every table of the schema, referenced tables first. It reads the catalog, so a new migration needs no change
 * here. Tables with circular references have no order and cannot be restored.
 */
export const TABLES = `
  WITH RECURSIVE
  tables AS (
    SELECT oid, relname FROM pg_class
    WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
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
  FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'S'`;

/**
 * Locks tables, then takes the snapshot: a migration that rewrites one of them would leave it empty in an older snapshot.
 * Neither SET nor LOCK takes one.
 */
const begin = (tables: BackupHeader['tables']) => `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
  LOCK TABLE ${namesOf(tables)} IN ACCESS SHARE MODE; ${WITHOUT_TIMEOUTS}`;

const namesOf = (tables: BackupHeader['tables']) => tables.map(({ table }) => table).join(', ');

/**
 * Writes all rows of one snapshot, and the positions of the sequences, to a new file. The service may run meanwhile.
 *
 * @throws UserError
 */
export async function backupDatabase(databaseUrl: string, path: string) {
  if (existsSync(path)) throw new UserError(`The file ${path} exists: give another name.`);
  return withConnection(databaseUrl, async (client) => {
    const header = await beginSnapshot(client);
    const bytes = await writeWholeFile(path, backupText(client, header));
    return { createdAt: header.createdAt, bytes };
  });
}

/**
 * Writes a file that has its name when it is complete and on the disk. Only its owner may read it: a backup has the hashes
 * of keys.
 *
 * @returns the number of bytes
 */
async function writeWholeFile(path: string, text: AsyncIterable<Buffer | string>): Promise<number> {
  const partial = `${path}.${randomUUID()}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(text, createGzip(), file);
    await rename(partial, path);
    return file.bytesWritten;
  } catch (error) {
    await rm(partial, { force: true });
    if (!(error instanceof Error && 'syscall' in error) || isDatabaseUnavailable(error)) throw error;
    throw new UserError(
      `The file ${path} cannot be written (${codeOf(error)}): give a file in an existing folder that this user may write, with enough space.`,
    );
  }
}

/** @throws UserError if the database is empty */
async function beginSnapshot(client: Client): Promise<BackupHeader> {
  const database = { query: async (text: string) => (await client.query(text)).rows };
  if ((await readApplied(database)).length === 0) {
    throw new UserError('There is nothing to back up: the database is empty (is DATA_DIR right?).');
  }
  const locked: BackupHeader['tables'] = await database.query(TABLES);
  await client.query(begin(locked));
  const migrations = await readApplied(database);
  const tables: BackupHeader['tables'] = await database.query(TABLES);
  if (namesOf(tables) !== namesOf(locked)) {
    throw new UserError('A migration has added or removed tables meanwhile: start the backup again.');
  }
  const createdAt = new Date().toISOString();
  return { format: FORMAT, version: FORMAT_VERSION, program: version, createdAt, migrations, tables };
}

async function* backupText(client: Client, header: BackupHeader): AsyncGenerator<Buffer | string> {
  yield jsonLine(header);
  for (const { table, columns } of header.tables) {
    yield jsonLine({ table });
    yield* client.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`));
    yield END_OF_ROWS;
  }
  // Sequences are not part of a snapshot. Read last, they are never behind the rows.
  const [query] = (await client.query<{ text: string }>(SEQUENCES)).rows;
  const footer: BackupFooter = { sequences: (await client.query(query?.text ?? '')).rows };
  yield jsonLine(footer);
}

function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
