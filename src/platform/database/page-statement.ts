import { type Direction, MAX_ITEMS } from '../paging/page';
import type { Statement } from './sql';

export interface Condition {
  readonly kind: 'always' | 'filter' | 'rare' | 'match' | 'ids';
  /** The member of the query; the column of `always`. */
  readonly member: string;
  /** A whole condition with `$value` for `match`. */
  readonly column: string;
}

/** A condition of a statement, with the parameters of its values. */
export type GivenCondition = Condition & { readonly values: readonly string[] };

interface Listed {
  readonly table: string;
  readonly columns: string;
}

const MAX_ROWS = MAX_ITEMS + 1;

/** A page of a condition that many rows meet is full after these, and the others are not read. */
const NEAR_ROWS = 10_000;

/** How the statements of a direction differ. An index on two or more columns before `id` has NULLS FIRST. */
export const ORDERS = {
  ascending: { from: '>=', to: '<=', order: 'ASC', nulls: 'NULLS FIRST' },
  descending: { from: '<=', to: '>=', order: 'DESC', nulls: 'NULLS LAST' },
} as const;

/**
 * Builds the statement of a page. Its parameters are the first id, the number of rows, and the values of each condition.
 */
export function pageStatement(
  list: Listed,
  given: readonly GivenCondition[],
  direction: Direction,
): Omit<Statement, 'read'> {
  const { table, columns } = list;
  const { from, to, order } = ORDERS[direction];
  const end = `ORDER BY id ${order} LIMIT $2`;
  const start = `id ${from} $1::bigint`;
  const has = (wanted: Condition['kind']) => given.some(({ kind }) => kind === wanted);
  if (has('ids')) {
    const [ids, others] = [true, false].map((isOfIds) =>
      allOf(given.filter(({ kind }) => (kind === 'ids') === isOfIds)),
    );
    const found = `(SELECT * FROM ${table} WHERE ${ids} AND ${start} OFFSET 0) AS found`;
    return { isPipelined: true, text: `SELECT ${columns} FROM ${found} WHERE ${others} ${end}` };
  }
  if (has('match')) {
    // OFFSET 0: the planner must not walk over all rows by id.
    const pageOf = (rows: string) =>
      `SELECT * FROM (SELECT * FROM ${table} WHERE ${allOf(given)} AND ${start} AND ${rows} OFFSET 0) AS found ${end}`;
    const isNear = `id ${to} (SELECT id FROM ${table} WHERE ${start} ORDER BY id ${order} OFFSET ${NEAR_ROWS} LIMIT 1)`;
    const isFull = '(SELECT count(*) = $2 FROM near)';
    const page = `SELECT * FROM near WHERE ${isFull} UNION ALL (${pageOf(`NOT ${isFull}`)})`;
    return {
      isPlannedAnew: true,
      text: `WITH near AS (${pageOf(isNear)}) SELECT ${columns} FROM (${page}) AS page ${end}`,
    };
  }
  if (has('rare'))
    return {
      isPlannedAnew: true,
      text: `SELECT ${columns} FROM ${table} WHERE ${allOf(given)} AND ${start} ${end}`,
    };
  const orderBy = orderOf([...given.map(({ column }) => column), 'id'], direction);
  const parts = combinationsOf(given).map((some) => {
    const [range, ...others] = rangeOf(some, direction);
    const rows = `(SELECT * FROM ${table} WHERE ${range} ORDER BY ${orderBy} LIMIT ${MAX_ROWS}) AS rows`;
    // The rows of other values: at most a page.
    return others.length === 0
      ? rows
      : `(SELECT * FROM ${rows} ORDER BY ${orderBy} LIMIT $2) AS few WHERE ${others.join(' AND ')}`;
  });
  const all = parts.map((part) => `(SELECT * FROM ${part} ORDER BY id ${order})`).join(' UNION ALL ');
  // Each level of a statement costs 2 to 5 % of its time.
  const page = parts.length === 1 ? parts[0] : `(${all}) AS page`;
  return { isPipelined: true, text: `SELECT ${columns} FROM ${page} ${end}` };
}

function allOf(given: readonly GivenCondition[]): string {
  return given.length === 0 ? 'true' : given.map(conditionOf).join(' AND ');
}

function combinationsOf(given: readonly GivenCondition[]): GivenCondition[][] {
  let combinations: GivenCondition[][] = [[]];
  for (const each of given)
    combinations = combinations.flatMap((some) =>
      each.values.map((value) => [...some, { ...each, values: [value] }]),
    );
  return combinations;
}

/** Returns the range of an index with the first of these values, and the conditions on its rows. */
function rangeOf(given: readonly GivenCondition[], direction: Direction): string[] {
  const { from, to } = ORDERS[direction];
  const [columns, values] = [given.map(({ column }) => column), given.flatMap((each) => each.values)];
  const start = `${tuple([...columns, 'id'])} ${from} ${tuple([...values, '$1'])}`;
  const [first] = columns;
  return [
    first === undefined ? start : `${start} AND ${first} ${to} ${values[0]}`,
    // Also the first: then each part is sorted by id, and PostgreSQL merges them as far as the page needs.
    ...columns.map((column, at) => `${column} = ${values[at]}`),
  ];
}

function conditionOf({ kind, column, values }: GivenCondition): string {
  if (kind === 'match') return column.replaceAll('$value', () => values.join());
  if (kind === 'ids') return `${column} = ANY(${values.join()}::bigint[])`;
  return `${column} ${values.length > 1 ? `IN ${tuple(values)}` : `= ${values.join()}`}`;
}

/** Returns the order of an index whose last column is `id`. */
function orderOf(columns: readonly string[], direction: Direction): string {
  const { order, nulls } = ORDERS[direction];
  return columns
    .map((column, at) => `${column} ${at === 0 && columns.length > 2 ? `${order} ${nulls}` : order}`)
    .join(', ');
}

function tuple(names: readonly string[]): string {
  return `(${names.join(', ')})`;
}
