import { type CustomTypesConfig, type QueryConfig, types } from 'pg';

/** An SQL statement, prepared once per connection under its name; each text needs its own name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Makes a row from the values of its columns, in half of the time that node-postgres takes. Default: by their names. */
  readonly read?: (columns: never) => unknown;
  /** True for a quick SELECT of the request path. Outside of a transaction several of them share a connection. */
  readonly isPipelined?: true;
}

/** Texts of at most this length are integers that a number holds exactly. */
const MAX_EXACT_LENGTH = 15;

/** Reads int8 as bigint: a number would round it. For most texts the way by a number takes half of the time. */
function toBigint(text: string): bigint {
  return BigInt(text.length > MAX_EXACT_LENGTH ? text : Number(text));
}

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? toBigint : types.getTypeParser(oid, format)),
};

/** The statements in the form that node-postgres takes. */
export class Queries {
  private readonly known = new WeakMap<Statement, QueryConfig>();

  /** @param arePrepared false if a pooler has no prepared statements */
  constructor(private readonly arePrepared: boolean) {}

  of(statement: Statement): QueryConfig {
    const known = this.known.get(statement);
    if (known) return known;
    // node-postgres copies the own properties of a query at each execution, in more time than it takes to send it.
    const query: QueryConfig = Object.create(this.create(statement));
    this.known.set(statement, query);
    return query;
  }

  private create({ name, text, read }: Statement): QueryConfig {
    const rowMode = read ? { rowMode: 'array' } : {};
    return { name: this.arePrepared ? name : undefined, text, types: TYPES, ...rowMode };
  }
}
