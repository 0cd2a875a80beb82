import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { NEW_PET_COLUMNS, PET_COLUMNS } from '../pets';
import { recordAudit } from '../database/audit';
import { progressOf } from './backup/backup-database';
import { openConnection } from '../database/data-source';
import { WITHOUT_TIMEOUTS } from '../database/migrate';
import { UserError } from '../config/user-error';
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
    const shown = await progressOf(client, ['pets'], onProgress);
    const copy = client.query(copyTo(EXPORT[format](`SELECT ${PET_COLUMNS} FROM pets ORDER BY id`)));
    await write(shown(copy));
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
  await file.read();
  if (file.badLines > 0) return false;
  await inOwnTransaction(databaseUrl, async (client) => {
    if (file.lastId !== undefined) {
      // A running service could use one of the ids meanwhile.
      if (!isDryRun) await client.query('LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE');
      await requireNoPets(client);
    }
    if (!isDryRun) await copyPets(client, file, onProgress);
  });
  return true;
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
  { animals, lastId, parts }: PetFile,
  onProgress: (share: number) => void,
): Promise<void> {
  const columns = `${lastId === undefined ? '' : 'id, '}${NEW_PET_COLUMNS}`;
  const told = function* () {
    for (const [at, part] of parts.entries()) {
      onProgress(at / parts.length);
      yield part;
    }
  };
  await pipeline(told, client.query(copyFrom(`COPY pets (${columns}) FROM STDIN`)));
  if (lastId !== undefined) await client.query(CONTINUE_IDS, [lastId]);
  // Without it the planner uses the old statistics until autovacuum runs.
  await client.query('ANALYZE pets');
  await recordAudit(client, { command: 'pets import', details: `${animals} animals` });
}
