import type { Statement } from './statement';

/** A table that is listed by pages. */
export interface ListedTable {
  readonly table: string;
  /** The columns of a row, in the order that `read` takes them. */
  readonly columns: string;
  readonly read: NonNullable<Statement['read']>;
}

/** The statements of one list: one for each direction of the ids. */
export interface PageStatements {
  readonly ascending: Statement;
  readonly descending: Statement;
}

interface Direction {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly order: string;
}

const ASCENDING: Direction = { name: '', from: '>=', to: '<=', order: 'ASC' };
const DESCENDING: Direction = { name: '_descending', from: '<=', to: '>=', order: 'DESC' };

/**
 * Creates the statements for the pages of a list. Parameters: the first id, the number of rows, and the values of the
 * filters.
 *
 * An index on the filters and `id` serves both directions, at any depth. The last filter stands in a row comparison with
 * `id`, so that only this index gives the order: with `status = $3 … ORDER BY id` the planner may scan the primary key,
 * past every row of another status. The filters before it are compared by `=`, outside of the row comparison: inside it
 * the planner overestimates the rows, and a generic plan may sort them all.
 *
 * @param filters columns
 */
export function pageStatements(listed: ListedTable, filters: readonly string[]): PageStatements {
  const name = ['list', ...(filters.length > 0 ? ['by', ...filters] : [])].join('_');
  const others = filters.slice(0, -1).map((column, at) => `${column} = $${at + 3}`);
  const last = filters.at(-1);
  const value = `$${filters.length + 2}`;
  return bothWays(listed, name, ({ from, to, order }) => ({
    where: [
      ...others,
      ...(last === undefined
        ? [`id ${from} $1`]
        : [`(${last}, id) ${from} (${value}, $1)`, `${last} ${to} ${value}`]),
    ],
    orderBy: last === undefined ? `id ${order}` : `${last} ${order}, id ${order}`,
  }));
}

/**
 * Creates the statements for the pages of the rows with given ids. Parameters: the first id, the number of rows, the
 * ids, and the values of the filters; null admits all.
 *
 * @param filters columns with their types
 */
export function pageStatementsOfIds(
  listed: ListedTable,
  filters: Readonly<Record<string, string>>,
): PageStatements {
  const conditions = Object.entries(filters).map(
    ([column, type], at) => `($${at + 4}::${type} IS NULL OR ${column} = $${at + 4})`,
  );
  return bothWays(listed, 'list_of_ids', ({ from, order }) => ({
    where: ['id = ANY($3::bigint[])', `id ${from} $1`, ...conditions],
    orderBy: `id ${order}`,
  }));
}

interface Clauses {
  readonly where: readonly string[];
  readonly orderBy: string;
}

function bothWays(
  { table, columns, read }: ListedTable,
  name: string,
  clausesOf: (direction: Direction) => Clauses,
): PageStatements {
  const create = (direction: Direction): Statement => {
    const { where, orderBy } = clausesOf(direction);
    return {
      name: `${table}_${name}${direction.name}`,
      read,
      isPipelined: true,
      text: `SELECT ${columns} FROM ${table} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT $2`,
    };
  };
  return { ascending: create(ASCENDING), descending: create(DESCENDING) };
}
