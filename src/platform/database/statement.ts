/** An SQL statement. Each connection prepares it once, unless it is planned for the values of each execution. */
export interface Statement {
  readonly text: string;
  /** Makes a row from the values of its columns, in half of the time that node-postgres takes. Default: by their names. */
  readonly read?: (columns: never) => unknown;
  /** True for a quick SELECT of the request path. Outside of a transaction several of them share a connection. */
  readonly isPipelined?: true;
  /** True if the best plan depends on the values: no connection prepares it. */
  readonly isPlannedAnew?: true;
}
