import { createHash } from 'node:crypto';
import { type BackupHeader, type BackupTotals, END_OF_ROWS } from './backup-format';
import type { CopySource } from '../copy/copy-source';
import type { CopiedTable } from '../copy/fill-database';

/**
 * Yields the text of a backup, with one table after the other.
 *
 * @param onTable is called after the last row of a table
 */
export async function* backupText(
  source: CopySource,
  header: BackupHeader,
  onTable: (copied: CopiedTable) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of hashedText(source, header, onTable)) {
    hash.update(chunk);
    yield chunk;
  }
  yield jsonLine({ sha256: hash.digest('hex') });
}

async function* hashedText(
  source: CopySource,
  header: BackupHeader,
  onTable: (copied: CopiedTable) => void,
): AsyncGenerator<Buffer> {
  const rows: Record<string, number> = {};
  yield jsonLine(header);
  for (const shape of header.tables) {
    const { table } = shape;
    yield jsonLine({ table });
    for await (const chunk of source.readRows(shape)) yield chunk;
    yield END_OF_ROWS;
    const copied = { table, rows: await source.countRows(table) };
    rows[table] = copied.rows;
    onTable(copied);
  }
  // Sequences are not part of a snapshot. Read last, they are never behind the rows.
  const totals: BackupTotals = { rows, sequences: await source.sequences() };
  yield jsonLine(totals);
}

function jsonLine(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
