import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { NEW_PET_COLUMNS, PET_COLUMNS } from '../pets';
import { recordAudit } from '../platform/database/audit';
import { countLines } from './backup/backup-database';
import { openConnection } from '../platform/database/data-source';
import { WITHOUT_TIMEOUTS } from '../platform/database/migrate';
import { codeOf, UserError } from '../platform/errors/user-error';
import type { PetFile, PetFormat } from './pet-file';

const EXPORT: Readonly<Record<PetFormat, (pets: string) => string>> = {
  csv: (pets) => `COPY (${pets}) TO STDOUT (FORMAT csv, HEADER)`,
  // No JSON has this quote or this delimiter, so COPY prints it as it is.
  jsonl: (pets) =>
    `COPY (SELECT row_to_json(pet) FROM (${pets}) AS pet) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`,
};

/** The next id follows the last animal. The sequence of ids begins at 1. */
const CONTINUE_IDS = `SELECT setval(pg_get_serial_sequence('pets', 'id'), $1::bigint) WHERE $1::bigint > 0`;

/** Changes animals in one transaction without timeouts, on a connection of its own. */
export async function inOwnTransaction<T>(
  databaseUrl: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await openConnection(databaseUrl);
  try {
    await client.query('BEGIN');
    await client.query(WITHOUT_TIMEOUTS);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    // The server rolls back what was not committed.
    await client.end();
  }
}

/** Reads all animals in the order of their ids. @returns their number */
export function exportPets(
  databaseUrl: string,
  format: PetFormat,
  write: (text: AsyncIterable<Buffer>) => Promise<unknown>,
  onProgress: (share: number) => void,
): Promise<number> {
  return inOwnTransaction(databaseUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::float8 AS count FROM pets');
    const copy = client.query(copyTo(EXPORT[format](`SELECT ${PET_COLUMNS} FROM pets ORDER BY id`)));
    await write(countLines(copy, (lines) => onProgress(lines / (rows[0]?.count ?? lines))));
    // The number of rows arrives before the response to the next query.
    await client.query('');
    return copy.rowCount;
  });
}

/**
 * Adds the animals of a file, all or none. They keep their ids if the file has some.
 *
 * The input may stall, and an open transaction holds back the feed: the transaction begins when all lines are read.
 *
 * @param onProgress the share of the animals that the database has got
 * @returns false if the file has a bad line
 * @throws UserError if the file has ids, and the store has animals
 */
export async function importPets(
  databaseUrl: string,
  file: PetFile,
  isDryRun: boolean,
  onProgress: (share: number) => void,
): Promise<boolean> {
  const rows = rowsOf(databaseUrl, file);
  if (isDryRun) {
    for await (const _ of rows);
    return file.badLines === 0;
  }
  const { target, source } = await openUnnamedFile();
  try {
    await pipeline(rows, target.createWriteStream()).catch(rejectWrite);
    if (file.badLines > 0) return false;
    await inOwnTransaction(databaseUrl, (client) => copyPets(client, file, source, onProgress));
    return true;
  } finally {
    await target.close();
    await source.close();
  }
}

/** Opens a temporary file that ends with the process. Streams of the handles close them. */
async function openUnnamedFile() {
  const path = join(tmpdir(), `animal-store-${randomUUID()}`);
  const target = await open(path, 'wx', 0o600).catch((error: Error) =>
    rejectWrite(Object.assign(error, { syscall: 'write' })),
  );
  const source = await open(path);
  await rm(path);
  return { target, source };
}

/** Explains an error of the temporary file; rethrows any error of the input. */
function rejectWrite(error: NodeJS.ErrnoException): never {
  if (error.syscall !== 'write') throw error;
  throw new UserError(
    `The temporary folder ${tmpdir()} cannot be written (${codeOf(error)}): set TMPDIR to one with enough space.`,
  );
}

/** Returns the rows of a file. @throws UserError after its first id if the store has animals */
async function* rowsOf(databaseUrl: string, file: PetFile): AsyncGenerator<string> {
  let isChecked = false;
  for await (const rows of file.rows()) {
    if (file.hasIds && !isChecked) await inOwnTransaction(databaseUrl, requireNoPets);
    isChecked = file.hasIds === true;
    yield rows;
  }
}

async function requireNoPets(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pets LIMIT 1');
  if (!rowCount) return;
  throw new UserError(
    'The file has ids, and the store has animals. Remove the ids, or import into a store without animals.',
  );
}

async function copyPets(
  client: Client,
  { animals, hasIds, lastId }: PetFile,
  source: FileHandle,
  onProgress: (share: number) => void,
): Promise<void> {
  if (hasIds) {
    // A running service could use one of the ids meanwhile.
    await client.query('LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE');
    await requireNoPets(client);
  }
  const { size } = await source.stat();
  const parts = source.createReadStream();
  parts.on('data', () => onProgress(parts.bytesRead / size));
  const columns = `${hasIds ? 'id, ' : ''}${NEW_PET_COLUMNS}`;
  await pipeline(parts, client.query(copyFrom(`COPY pets (${columns}) FROM STDIN`)));
  if (hasIds) await client.query(CONTINUE_IDS, [lastId]);
  // Without it the planner uses the old statistics until autovacuum runs.
  await client.query('ANALYZE pets');
  await recordAudit(client, { command: 'pets import', details: `${animals} animals` });
}
