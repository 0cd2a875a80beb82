import type { Writable } from 'node:stream';
import type { AppliedMigration } from '../extension-migrations';

/** A table and its columns, as written in SQL. */
export interface TableShape {
  readonly table: string;
  readonly columns: string;
}

/** The position of a sequence; `isCalled` is false until it has returned `lastValue`. */
export interface SequencePosition {
  readonly sequence: string;
  readonly lastValue: string;
  readonly isCalled: boolean;
}

/** The content of a database at one moment: of a database, or of a backup. */
export interface RowSource {
  /** Returns the migrations that created the tables, in their order. */
  migrations(): Promise<readonly AppliedMigration[]>;
  /** Returns every table, referenced tables first. */
  tables(): Promise<readonly TableShape[]>;
  /** Writes the rows of a table to `sink` in COPY's text format. Call it once for each table, in their order. */
  writeRows(shape: TableShape, sink: Writable): Promise<void>;
  countRows(table: string): Promise<number>;
  sequences(): Promise<readonly SequencePosition[]>;
}
