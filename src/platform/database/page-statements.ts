import { MAX_ITEMS } from '../paging/page';
import type { Statement } from './statement';

/** The most rows that a page reads. */
const MAX_ROWS = MAX_ITEMS + 1;

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
  /** The order of the first filter if a list has two or more. Their index has NULLS FIRST. */
  readonly firstOrder: string;
}

const ASCENDING: Direction = {
  name: '',
  from: '>=',
  to: '<=',
  order: 'ASC',
  firstOrder: 'ASC NULLS FIRST',
};
const DESCENDING: Direction = {
  name: '_descending',
  from: '<=',
  to: '>=',
  order: 'DESC',
  firstOrder: 'DESC NULLS LAST',
};

/**
 * Creates the statements for the pages of a list. Parameters: the first id, the number of rows (at most one more than a
 * page has), and the values of the filters.
 *
 * An index on the filters and `id`, in this order, serves both directions at any depth. The conditions are row
 * comparisons, because only this index gives their order: with `status = $3 … ORDER BY id` the planner may scan the
 * primary key, past every row of another status.
 *
 * An index on two or more filters has NULLS FIRST on its first column: `(category_id NULLS FIRST, status, id)`. No column
 * is null, so the order is the same, but `(category_id, id)` does not give it. Without NULLS FIRST the planner may read
 * that index, and sort all rows of a large category by status (decision 22).
 *
 * The inner LIMIT is a constant. For `LIMIT $2` the planner assumes a tenth of the table. It then finds the generic plan
 * expensive and plans each execution anew, which takes longer than the page itself (decision 22).
 *
 * @param filters columns
 */
export function pageStatements(listed: ListedTable, filters: readonly string[]): PageStatements {
  const name = ['list', ...(filters.length > 0 ? ['by', ...filters] : [])].join('_');
  const values = filters.map((_, at) => `$${at + 3}`);
  const columns = [...filters, 'id'];
  return bothWays(listed, name, ({ from, to, order, firstOrder }) => ({
    where: [
      `(${columns.join(', ')}) ${from} (${[...values, '$1'].join(', ')})`,
      ...(filters.length > 0 ? [`(${filters.join(', ')}) ${to} (${values.join(', ')})`] : []),
    ],
    orderBy: columns
      .map((column, at) => `${column} ${at === 0 && filters.length > 1 ? firstOrder : order}`)
      .join(', '),
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
    const rows = `SELECT ${columns} FROM ${table} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT ${MAX_ROWS}`;
    return {
      name: `${table}_${name}${direction.name}`,
      read,
      isPipelined: true,
      text: `SELECT ${columns} FROM (${rows}) AS page ORDER BY ${orderBy} LIMIT $2`,
    };
  };
  return { ascending: create(ASCENDING), descending: create(DESCENDING) };
}
