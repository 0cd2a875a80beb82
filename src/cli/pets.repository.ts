import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { recordAudit } from '../platform/database/audit';
import { countLines } from '../platform/database/backup/backup-database';
import { openConnection } from '../platform/database/data-source';
import { WITHOUT_TIMEOUTS } from '../platform/database/migrate';
import { UserError } from '../platform/errors/user-error';
import type { PetFile, PetFormat } from './pet-file';

const PETS = 'SELECT id, name, category_id AS "categoryId", status FROM pets ORDER BY id';

const EXPORT: Readonly<Record<PetFormat, string>> = {
  csv: `COPY (${PETS}) TO STDOUT (FORMAT csv, HEADER)`,
  // No JSON has this quote or this delimiter, so COPY prints it as it is.
  jsonl: `COPY (SELECT row_to_json(pet) FROM (${PETS}) AS pet) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`,
};

/** The next id follows that of the last animal. The sequence of ids begins at 1. */
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
    const copy = client.query(copyTo(EXPORT[format]));
    await write(countLines(copy, (lines) => onProgress(lines / (rows[0]?.count ?? lines))));
    // The number of rows arrives before the response to the next query.
    await client.query('');
    return copy.rowCount;
  });
}

/**
 * Adds the animals of a file, all or none. They keep their ids if the file has some.
 *
 * @returns false if the file has a bad line
 * @throws UserError if the file has ids, and the store has animals
 */
export function importPets(databaseUrl: string, file: PetFile, isDryRun: boolean): Promise<boolean> {
  return inOwnTransaction(databaseUrl, async (client) => {
    const rows = file.rows();
    // The first animal says whether the file has ids.
    const first = await rows.next();
    if (file.hasIds) {
      // A running service could use one of the ids meanwhile.
      if (!isDryRun) await client.query('LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE');
      const { rowCount } = await client.query('SELECT FROM pets LIMIT 1');
      if (rowCount) {
        throw new UserError(
          'The file has ids, and the store has animals: add --new-ids, or import into a store without animals.',
        );
      }
    }
    const copied = (async function* () {
      if (!first.done) yield first.value;
      yield* rows;
    })();
    const columns = file.hasIds ? 'id, name, category_id, status' : 'name, category_id, status';
    if (isDryRun) for await (const _ of copied);
    else await pipeline(copied, client.query(copyFrom(`COPY pets (${columns}) FROM STDIN`)));
    if (file.badLines > 0) await client.query('ROLLBACK');
    if (isDryRun || file.badLines > 0) return file.badLines === 0;
    if (file.hasIds) await client.query(CONTINUE_IDS, [file.lastId]);
    // Without it the planner uses the old statistics until autovacuum runs.
    await client.query('ANALYZE pets');
    await recordAudit(client, { command: 'pets import', details: `${file.animals} animals` });
    return true;
  });
}
