import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BackupHeader, type BackupTotals, FORMAT, FORMAT_VERSION } from './backup-format';
import { BackupReader } from './backup-reader';
import type { RowSource, SequencePosition, TableShape } from '../copy/row-source';
import type { AppliedMigration } from '../extension-migrations';
import { UserError } from '../../errors/user-error';

/** The result of the check of a whole file. */
interface CheckedText {
  readonly header: BackupHeader;
  readonly totals: BackupTotals;
  /** The SHA-256 of all lines but the last. */
  readonly digest: string;
}

/** A backup whose checksum is right. Its rows can be read once. */
export class BackupFile implements RowSource {
  private constructor(
    private readonly path: string,
    private readonly checked: CheckedText,
    private readonly reader: BackupReader,
  ) {}

  get header(): BackupHeader {
    return this.checked.header;
  }

  /**
   * Reads the whole file and checks it. Then a damaged file has no effect on a database.
   *
   * @throws UserError if the file is missing, damaged, incomplete, or of a newer format
   */
  static async open(path: string): Promise<BackupFile> {
    const checked = await verify(path);
    const reader = BackupReader.open(path);
    await reader.json();
    return new BackupFile(path, checked, reader);
  }

  close(): void {
    this.reader.close();
  }

  migrations(): Promise<readonly AppliedMigration[]> {
    return Promise.resolve(this.header.migrations);
  }

  tables(): Promise<readonly TableShape[]> {
    return Promise.resolve(this.header.tables);
  }

  async writeRows(_shape: TableShape, sink: Writable): Promise<void> {
    await this.reader.json();
    await pipeline(this.reader.rows(), sink);
  }

  countRows(table: string): Promise<number> {
    return Promise.resolve(this.checked.totals.rows[table] ?? 0);
  }

  /** @throws UserError if the rows that were read are not those that were checked */
  async sequences(): Promise<readonly SequencePosition[]> {
    await this.reader.json();
    if (this.reader.digest() !== this.checked.digest) {
      throw new UserError(
        `The file ${this.path} changed during the restore: nothing was restored. Repeat it, and let no other program write the file.`,
      );
    }
    return this.checked.totals.sequences;
  }
}

async function verify(path: string): Promise<CheckedText> {
  const reader = BackupReader.open(path);
  try {
    return await readAll(reader);
  } catch (error) {
    if (error instanceof UserError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UserError(
      error instanceof Error && 'syscall' in error
        ? `The backup cannot be read (${reason}): correct the name of the file, or let this user read it.`
        : `The file ${path} is not a whole backup (${reason}): nothing was restored. Use another copy of it, or an earlier backup.`,
    );
  } finally {
    reader.close();
  }
}

async function readAll(reader: BackupReader): Promise<CheckedText> {
  // The checksum below shows that a backup wrote these lines.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const header = (await reader.json()) as BackupHeader;
  if (header.format !== FORMAT) throw new Error('another format');
  if (header.version !== FORMAT_VERSION) {
    throw new UserError(
      `The backup was written by Animal Store ${header.program}, in a newer format: restore it with that version.`,
    );
  }
  for (const { table } of header.tables) await skipTable(reader, table);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const totals = (await reader.json()) as BackupTotals;
  const digest = reader.digest();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { sha256 } = (await reader.json()) as { sha256?: unknown };
  if (sha256 !== digest) throw new Error('wrong checksum');
  await reader.requireEnd();
  return { header, totals, digest };
}

async function skipTable(reader: BackupReader, expected: string): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { table } = (await reader.json()) as { table?: unknown };
  if (table !== expected) throw new Error(`the table ${expected} is missing`);
  const rows = reader.rows();
  while (!(await rows.next()).done);
}
