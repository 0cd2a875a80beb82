import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import {
  type BackupHeader,
  type BackupTotals,
  type CopiedTable,
  END_OF_ROWS,
  FORMAT,
  FORMAT_VERSION,
} from './backup-database';
import { isDatabaseUnavailable } from '../database-errors';
import { applyMigrations, bringUpToDate, firstLine, readApplied } from '../migrate';
import { inMigrationTransaction, rejectUsed, type SchemaConfig } from '../migration-transaction';
import { UserError } from '../../errors/user-error';

/**
 * Restores a backup to an empty database, in one transaction: the schema by the backup's migrations, every table by
 * COPY, the position of every sequence, then the migrations that are newer than the backup.
 *
 * @param onTable is called when a table is restored, before the commit
 * @throws UserError
 */
export async function restoreDatabase(
  config: SchemaConfig,
  path: string,
  onTable: (copied: CopiedTable) => void,
) {
  await checkFile(config, path);
  return await readBackup(path, (backup, header) =>
    inMigrationTransaction(config, async (runner) => {
      await rejectUsed(runner);
      if ((await readApplied(runner)).length > 0) {
        throw new UserError(
          'The database is not empty: rename DATA_DIR, or name an empty database in DATABASE_URL.',
        );
      }
      const names = new Set(header.migrations.map(({ name }) => name));
      try {
        const older = config.migrations.filter(({ name }) => names.has(name));
        await applyMigrations(older, runner);
        // TypeORM types the connection as any; the driver is node-postgres.
        const client: Client = await runner.connect();
        const tables = await copyTables(client, header, backup, onTable);
        // A migration cannot change a table with unchecked rows.
        await client.query('SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED');
        const { applied } = await bringUpToDate(config, runner);
        // The copy may serve another deployment, such as staging: its first start decides.
        await runner.query('DELETE FROM deployment');
        return { createdAt: header.createdAt, tables, migrated: applied };
      } catch (error) {
        if (error instanceof UserError || isDatabaseUnavailable(error)) throw error;
        throw new UserError(`The backup cannot be restored (${firstLine(error)}): nothing was restored.`);
      }
    }),
  );
}

function readBackup<T>(
  path: string,
  read: (backup: BackupReader, header: BackupHeader) => Promise<T>,
): Promise<T> {
  return pipeline(createReadStream(path), createGunzip(), async (text: AsyncIterable<Buffer>) => {
    const backup = new BackupReader(text);
    return await read(backup, await backup.json<BackupHeader>());
  });
}

/** Decompresses the whole file, so that damage never reaches the database. @throws UserError */
async function checkFile({ migrations }: SchemaConfig, path: string): Promise<void> {
  try {
    await readBackup(path, async (backup, header) => {
      if (header.format !== FORMAT) throw new Error('another format');
      await backup.end();
      rejectUnknown(header, migrations);
    });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      error instanceof Error && 'syscall' in error
        ? `The backup cannot be read (${error.message}): correct the name of the file, or let this user read it.`
        : `The file ${path} is not a whole backup (${firstLine(error)}): nothing was restored. Use another copy of it, or an earlier backup.`,
    );
  }
}

/** @throws UserError unless this program has the format and all migrations of the backup */
function rejectUnknown(
  { version, program, migrations }: BackupHeader,
  known: SchemaConfig['migrations'],
): void {
  const unknown = migrations.find(({ name }) => !known.some((each) => each.name === name));
  if (version <= FORMAT_VERSION && !unknown) return;
  const part = version > FORMAT_VERSION ? `format ${version}` : `migration ${unknown?.name}`;
  const extension = unknown?.extension ?? unknown?.record?.extension;
  const owner = extension === undefined ? `version ${program} of Animal Store` : `the extension ${extension}`;
  throw new UserError(`This program lacks the ${part} of the backup: restore it with ${owner}.`);
}

async function copyTables(
  client: Client,
  header: BackupHeader,
  backup: BackupReader,
  onTable: (copied: CopiedTable) => void,
): Promise<CopiedTable[]> {
  // The migrations have added rows, such as their own list.
  await client.query(`TRUNCATE ${header.tables.map(({ table }) => table).join(', ')}`);
  const copied: CopiedTable[] = [];
  for (const { table, columns } of header.tables) {
    const next = await backup.json<{ table: string }>();
    if (next.table !== table) throw new Error(`the table ${table} is missing`);
    const sink = client.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`));
    await pipeline(backup.rows(), sink);
    copied.push({ table, rows: sink.rowCount });
    onTable({ table, rows: sink.rowCount });
  }
  const totals = await backup.json<BackupTotals>();
  const wrong = copied.find(({ table, rows }) => rows !== totals.rows[table]);
  if (wrong)
    throw new Error(`${wrong.table} has ${totals.rows[wrong.table]} rows, but ${wrong.rows} arrived`);
  for (const { sequence, lastValue, isCalled } of totals.sequences) {
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [sequence, lastValue, isCalled]);
  }
  await backup.end();
  return copied;
}

/** Reads the text of a backup from its beginning: lines of JSON, and rows up to the line that ends them. */
class BackupReader {
  private static readonly END = `\n${END_OF_ROWS}`;
  private readonly chunks: AsyncIterator<Buffer>;
  /** Begins with one character that was read already: the end of a line, or of a part of the rows. */
  private text: Buffer = Buffer.from('\n');

  constructor(text: AsyncIterable<Buffer>) {
    this.chunks = text[Symbol.asyncIterator]();
  }

  /** @throws Error at the end of the file, or if the line is not JSON */
  async json<T>(): Promise<T> {
    let end: number;
    while ((end = this.text.indexOf('\n', 1)) < 0) await this.readMore();
    const line = this.text.toString('utf8', 1, end);
    this.text = this.text.subarray(end);
    return JSON.parse(line);
  }

  async *rows(): AsyncGenerator<Buffer> {
    const { END } = BackupReader;
    let end: number;
    while ((end = this.text.indexOf(END)) < 0) {
      // The end may begin in the last characters.
      const last = Math.max(this.text.length - END.length, 0);
      yield this.text.subarray(1, last + 1);
      this.text = this.text.subarray(last);
      await this.readMore();
    }
    yield this.text.subarray(1, end + 1);
    this.text = this.text.subarray(end + END.length - 1);
  }

  /** Reads the rest of the file, and with it gzip's checksum. */
  async end(): Promise<void> {
    while (!(await this.chunks.next()).done);
  }

  private async readMore(): Promise<void> {
    const next = await this.chunks.next();
    if (next.done) throw new Error('unexpected end of file');
    this.text = Buffer.concat([this.text, next.value]);
  }
}
