import { createReadStream } from 'node:fs';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { QueryRunner } from 'typeorm';
import { END_OF_ROWS, FORMAT, FORMAT_VERSION, TABLES } from './backup-database';
import type { BackupFooter, BackupHeader } from './backup-database';
import { isDatabaseUnavailable } from '../../database/database-errors';
import { restoreSchema, type SchemaConfig, WITHOUT_EVENTS } from '../../database/migrate';
import { UserError } from '../../config/user-error';

/**
 * Restores a backup to an empty database, in one transaction: the schema by the backup's migrations, every table by
 * COPY, the position of every sequence, then the migrations that are newer than the backup. Damage of the file, which
 * gzip's checksum shows at its end, rolls everything back.
 *
 * @param open opens the database when the file is known to be a backup
 * @throws UserError
 */
export async function restoreDatabase(
  { migrations }: Pick<SchemaConfig, 'migrations'>,
  path: string,
  open: <T>(work: (config: SchemaConfig) => Promise<T>) => Promise<T>,
) {
  const content = createGunzip();
  // An error of the file destroys the content, and so reaches its reader.
  pipeline(createReadStream(path), content).catch(() => undefined);
  const backup = new BackupReader(content);
  try {
    const header = await readHeader(backup, migrations);
    const names = header.migrations.map(({ name }) => name);
    const fill = (runner: QueryRunner) => copyTables(runner, header, backup);
    const migrated = await open((config) => restoreSchema(config, names, fill));
    return { createdAt: header.createdAt, migrated };
  } catch (error) {
    if (error instanceof UserError || isDatabaseUnavailable(error)) throw error;
    const message = String(error instanceof Error ? error.message : error).replace(/\n.*/s, '');
    throw new UserError(
      `The backup ${path} cannot be restored (${message}): nothing was restored. If the file is damaged, use another copy of it, or an earlier backup.`,
    );
  } finally {
    content.destroy();
  }
}

/** @throws UserError unless this program has the format and all migrations of the backup */
async function readHeader(backup: BackupReader, known: SchemaConfig['migrations']): Promise<BackupHeader> {
  const header = await backup.json<BackupHeader>();
  const { format, version, program, migrations } = header;
  if (format !== FORMAT) throw new Error('it is not a backup');
  const unknown = migrations.find(({ name }) => !known.some((each) => each.name === name));
  if (version === FORMAT_VERSION && !unknown) return header;
  const part = version !== FORMAT_VERSION ? `format ${version}` : `migration ${unknown?.name}`;
  const owner = unknown?.extension
    ? `the extension ${unknown.extension}`
    : `version ${program} of Animal Store`;
  throw new UserError(`This program lacks the ${part} of the backup: restore it with ${owner}.`);
}

type Table = BackupHeader['tables'][number];

async function copyTables(runner: QueryRunner, header: BackupHeader, backup: BackupReader): Promise<void> {
  // TypeORM types the connection as any; the driver is node-postgres.
  const client: Client = await runner.connect();
  await client.query(WITHOUT_EVENTS);
  // The order of columns depends on that of the migrations.
  const shapeOf = ({ table, columns }: Table) => `${table} (${columns.split(', ').toSorted().join(', ')})`;
  const shapes = new Set((await client.query<Table>(TABLES)).rows.map(shapeOf));
  // These names go into SQL.
  const unknown = header.tables.map(shapeOf).find((shape) => !shapes.has(shape));
  if (unknown !== undefined) throw new Error(`no migration creates the table ${unknown}`);
  // The migrations have added rows, such as their own list.
  await client.query(`TRUNCATE ${header.tables.map(({ table }) => table).join(', ')}`);
  for (const { table, columns } of header.tables) {
    const next = await backup.json<{ table: string }>();
    if (next.table !== table) throw new Error(`the table ${table} is missing`);
    await pipeline(backup.rows(), client.query(copyFrom(`COPY ${table} (${columns}) FROM STDIN`)));
  }
  const { sequences } = await backup.json<BackupFooter>();
  for (const { sequence, lastValue, isCalled } of sequences) {
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [sequence, lastValue, isCalled]);
  }
  await backup.end();
  // A migration cannot change a table with unchecked rows.
  await client.query('SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED');
}

/** Reads the text of a backup from its beginning: lines of JSON, and rows up to the line that ends them. */
class BackupReader {
  private readonly chunks: AsyncIterator<Buffer>;
  /** Begins with the end of the line before, or another character that was read already. */
  private rest: Buffer = Buffer.from('\n');

  constructor(content: AsyncIterable<Buffer>) {
    this.chunks = content[Symbol.asyncIterator]();
  }

  /** @throws Error at the end of the file, or if the line is not JSON */
  async json<T>(): Promise<T> {
    return JSON.parse(await text(this.upTo('\n', 1)));
  }

  rows(): AsyncGenerator<Buffer> {
    return this.upTo(`\n${END_OF_ROWS}`, 0);
  }

  /** Reads the rest of the file, and with it gzip's checksum. */
  async end(): Promise<void> {
    while (!(await this.chunks.next()).done);
  }

  /** Yields the text before `end`, which begins and ends with the end of a line. @param from where `end` may begin */
  private async *upTo(end: string, from: number): AsyncGenerator<Buffer> {
    let at: number;
    while ((at = this.rest.indexOf(end, from)) < 0) {
      // The end may begin in the last characters.
      const last = Math.max(this.rest.length - end.length, 0);
      yield this.rest.subarray(1, last + 1);
      const next = await this.chunks.next();
      if (next.done) throw new Error('unexpected end of file');
      this.rest = Buffer.concat([this.rest.subarray(last), next.value]);
    }
    yield this.rest.subarray(1, at + 1);
    this.rest = this.rest.subarray(at + end.length - 1);
  }
}
