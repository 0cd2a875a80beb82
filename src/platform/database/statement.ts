/** An SQL statement, prepared once per connection under its name; each text needs its own name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Makes a row from the values of its columns, in half of the time that node-postgres takes. Default: by their names. */
  readonly read?: (columns: never) => unknown;
  /** True for a quick SELECT of the request path. Outside of a transaction several of them share a connection. */
  readonly isPipelined?: true;
}
