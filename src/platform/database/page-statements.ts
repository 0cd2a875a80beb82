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

/** How the statements of a direction differ. The index of two or more filters has NULLS FIRST. */
const ASCENDING = { suffix: '', from: '>=', to: '<=', order: 'ASC', nulls: 'NULLS FIRST' };
const DESCENDING = { suffix: '_descending', from: '<=', to: '>=', order: 'DESC', nulls: 'NULLS LAST' };
type Direction = typeof ASCENDING;

/**
 * Creates the statements for the pages of a list. Parameters: the first id, the number of rows (at most one more than a
 * page has), and the values of the filters.
 *
 * An index on the filters and `id`, in this order, serves both directions at any depth, and a statement is planned once.
 * Decision 22 explains the row comparisons, the constant inner LIMIT, and NULLS FIRST in an index on two filters.
 *
 * @param filters columns
 */
export function pageStatements(listed: ListedTable, filters: readonly string[]): PageStatements {
  const name = ['list', ...(filters.length > 0 ? ['by', ...filters] : [])].join('_');
  const values = filters.map((_, at) => `$${at + 3}`);
  const columns = [...filters, 'id'];
  return bothWays(listed, name, ({ from, to, order, nulls }) => {
    const start = `(${columns.join(', ')}) ${from} (${[...values, '$1'].join(', ')})`;
    const end = `(${filters.join(', ')}) ${to} (${values.join(', ')})`;
    const first = filters.length > 1 ? `${order} ${nulls}` : order;
    return {
      where: filters.length > 0 ? [start, end] : [start],
      orderBy: columns.map((column, at) => `${column} ${at === 0 ? first : order}`).join(', '),
    };
  });
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

function bothWays(
  { table, columns, read }: ListedTable,
  name: string,
  clausesOf: (direction: Direction) => { readonly where: readonly string[]; readonly orderBy: string },
): PageStatements {
  const create = (direction: Direction): Statement => {
    const { where, orderBy } = clausesOf(direction);
    const rows = `SELECT ${columns} FROM ${table} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT ${MAX_ROWS}`;
    return {
      name: `${table}_${name}${direction.suffix}`,
      read,
      isPipelined: true,
      text: `SELECT ${columns} FROM (${rows}) AS page ORDER BY ${orderBy} LIMIT $2`,
    };
  };
  return { ascending: create(ASCENDING), descending: create(DESCENDING) };
}
