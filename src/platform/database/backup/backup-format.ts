import type { SequencePosition, TableShape } from '../copy/row-source';
import type { AppliedMigration } from '../extension-migrations';

/**
 * A backup is text, compressed by gzip: JSON lines, and between them the rows of each table in COPY's text format.
 *
 *     {"format":"animal-store-backup","version":1,…}   BackupHeader
 *     {"table":"accounts"}                             for each table of the header, in its order
 *     1\tacme\t…                                       its rows, one on each line
 *     \.                                               the end of its rows
 *     {"rows":{"accounts":1,…},"sequences":[…]}        BackupTotals
 *     {"sha256":"…"}                                   the hash of all lines before this line
 */
export const FORMAT = 'animal-store-backup';
export const FORMAT_VERSION = 1;

/** COPY escapes every backslash in a value, so no row is equal to this line. */
export const END_OF_ROWS = Buffer.from('\\.\n');

export interface BackupHeader {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** The version of the program that wrote the backup. */
  readonly program: string;
  /** The time of the snapshot: RFC 3339, UTC. */
  readonly createdAt: string;
  readonly migrations: readonly AppliedMigration[];
  readonly tables: readonly TableShape[];
}

export interface BackupTotals {
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly sequences: readonly SequencePosition[];
}
