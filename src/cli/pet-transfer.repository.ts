import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { NEW_PET_COLUMNS, SELECTED_PET_COLUMNS } from '../pets';
import { recordAudit } from '../database/audit';
import { WITHOUT_TIMEOUTS } from '../database/migrate';
import { withConnection } from './connection';
import type { PetFile } from './pet-file';

const PETS = `SELECT ${SELECTED_PET_COLUMNS} FROM pets ORDER BY id`;

/** The statements that export animals, by format. */
export const EXPORTS = {
  // No JSON has this quote or this delimiter, so COPY prints it as it is.
  jsonl: `COPY (SELECT row_to_json(pet) FROM (${PETS}) AS pet) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`,
  csv: `COPY (${PETS}) TO STDOUT (FORMAT csv, HEADER)`,
} as const;

/** Changes animals in one transaction without timeouts, on a connection of its own. */
export function inOwnTransaction(
  databaseUrl: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  return withConnection(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query(WITHOUT_TIMEOUTS);
    await work(client);
    await client.query('COMMIT');
  });
}

/**
 * Writes all animals in the order of their ids.
 *
 * @param onProgress receives about the share that was written: the text has about the size of the table
 */
export function exportPets(
  databaseUrl: string,
  format: keyof typeof EXPORTS,
  output: NodeJS.WritableStream,
  onProgress: (share: number) => void,
): Promise<void> {
  return inOwnTransaction(databaseUrl, async (client) => {
    const { rows } = await client.query<{ size: number }>(`SELECT pg_table_size('pets')::float8 AS size`);
    let written = 0;
    const copy = client.query(copyTo(EXPORTS[format]));
    copy.on('data', (part: Buffer) => onProgress((written += part.length) / (rows[0]?.size ?? written)));
    await pipeline(copy, output, { end: false });
  });
}

/**
 * Adds the animals of a file, all or none. An open transaction holds back the feed: it begins when all lines are read.
 *
 * @param onProgress receives the share of the animals that was sent to the database
 */
export function importPets(
  databaseUrl: string,
  { animals, parts }: PetFile,
  onProgress: (share: number) => void,
): Promise<void> {
  return inOwnTransaction(databaseUrl, async (client) => {
    let sent = 0;
    const rows = Readable.from(parts).on('data', () => onProgress((sent += 1) / parts.length));
    const columns = NEW_PET_COLUMNS.map(({ name }) => name).join(', ');
    await pipeline(rows, client.query(copyFrom(`COPY pets (${columns}) FROM STDIN`)));
    // Without it the planner uses the old statistics until autovacuum runs.
    await client.query('ANALYZE pets');
    await recordAudit(client, { command: 'pets import', details: `${animals} animals` });
  });
}
