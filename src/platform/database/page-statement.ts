import { type Direction, MAX_ITEMS } from '../paging/page';
import type { Statement } from './sql';

export interface Condition {
  /** `few` is a filter all of whose values are known. */
  readonly kind: 'always' | 'filter' | 'rare' | 'few' | 'since' | 'match' | 'ids';
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

/** If a request with `since` means at most as many rows, all of them are read and sorted. */
const MAX_LATE = 1_000;

/** Equal for 4,096 neighbouring ids. An index on blocks and a time finds the late rows of each block (decision 34). */
export const BLOCK = '(id >> 12)';

/** 0 for each id from 0 to 2^62 − 1. The planner does not take an index that begins with it for other pages. */
export const ALL_IDS = '(id >> 62)';

/** Finds the blocks of a page. If there are gaps of millions of ids, it skips them. */
const blocksOf = (table: string, from: string) => `
  ends AS (SELECT min(id) >> 12 AS first, max(id) >> 12 AS last FROM ${table} WHERE id ${from} $1),
  blocks (block) AS (
    SELECT first FROM ends
    UNION ALL
    SELECT CASE WHEN last - first < 100000 THEN block + 1
      ELSE (SELECT min(id) >> 12 FROM ${table} WHERE id > (block << 12 | 4095)) END
    FROM blocks, ends WHERE block < last
  )`;

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
  const { order } = ORDERS[direction];
  const has = (wanted: Condition['kind']) => given.some(({ kind }) => kind === wanted);
  if (has('match')) return matchingOf(list, given, direction);
  const isInBlocks = has('since') && !has('rare');
  const columnsBefore = given.flatMap(({ kind, column }) => (kind === 'since' ? [] : [column]));
  const sorted = [...(has('ids') ? [] : isInBlocks ? [BLOCK] : columnsBefore), 'id'];
  const orderBy = orderOf(sorted, direction);
  // The conditions of the rows of ids may leave out any number of them.
  const limit = has('ids') ? MAX_ROWS : '$2';
  const parts = (has('ids') || isInBlocks ? [given] : combinationsOf(given)).map((some) => {
    const [range, ...others] =
      has('ids') || has('rare') || has('since')
        ? filtered(some, direction, isInBlocks)
        : rangeOf(some, direction);
    const rows = `(SELECT * FROM ${table} WHERE ${range} ORDER BY ${orderBy} LIMIT ${MAX_ROWS}) AS rows`;
    // The rows of other values: at most a page.
    return others.length === 0
      ? rows
      : `(SELECT * FROM ${rows} ORDER BY ${orderBy} LIMIT ${limit}) AS few WHERE ${others.join(' AND ')}`;
  });
  const all = parts.map((part) => `(SELECT * FROM ${part} ORDER BY id ${order})`).join(' UNION ALL ');
  // Each level of a statement costs 2 to 5 % of its time.
  const page = parts.length === 1 ? parts[0] : `(${all}) AS page`;
  return {
    ...(has('rare') || has('since') ? { isPlannedAnew: true } : { isPipelined: true }),
    // The rows are sorted by columns that `columns` may lack.
    text: `${has('since') ? lateOf(list, given, all, direction) : `SELECT ${columns} FROM ${page}`} ORDER BY id ${order} LIMIT $2`,
  };
}

/**
 * Reads all rows that match before it sorts them: OFFSET 0 keeps the planner from a walk over other rows by id, which ends
 * late if it has guessed too many matches.
 */
function matchingOf(
  { table, columns }: Listed,
  given: readonly GivenCondition[],
  direction: Direction,
): Omit<Statement, 'read'> {
  const { from, order } = ORDERS[direction];
  const where = [...given.map(conditionOf), `id ${from} $1`].join(' AND ');
  const matching = `(SELECT * FROM ${table} WHERE ${where} OFFSET 0) AS matching`;
  return {
    isPlannedAnew: true,
    text: `SELECT ${columns} FROM ${matching} ORDER BY id ${order} LIMIT $2`,
  };
}

/** The index of the late rows does not have these columns. */
const isLate = ({ kind }: Condition) => kind === 'rare' || kind === 'few';

/** Reads the late rows by their time if they are few, and otherwise the parts. */
function lateOf(
  { table, columns }: Listed,
  given: readonly GivenCondition[],
  parts: string,
  direction: Direction,
): string {
  const { from } = ORDERS[direction];
  const early = given.filter((each) => !isLate(each));
  const sorted = [ALL_IDS, ...early.map(({ column }) => column)];
  const areMany = `(SELECT count(*) FROM late) > ${MAX_LATE}`;
  return `
    WITH RECURSIVE ${blocksOf(table, from)}, late AS MATERIALIZED (
      SELECT * FROM ${table} WHERE ${[`${ALL_IDS} = 0`, ...early.map(conditionOf)].join(' AND ')}
      ORDER BY ${sorted.join(', ')} LIMIT ${MAX_LATE + 1}
    )
    SELECT ${columns} FROM (
      SELECT * FROM late WHERE ${[`id ${from} $1`, ...given.filter(isLate).map(conditionOf)].join(' AND ')} AND NOT ${areMany}
      UNION ALL SELECT * FROM (${parts}) AS many WHERE ${areMany}
    ) AS page`;
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

/** Returns the conditions on the rows after the start of the page. With ids the others are those on the rows of the ids. */
function filtered(given: readonly GivenCondition[], direction: Direction, isInBlocks: boolean): string[] {
  const where = given.map(conditionOf);
  const start = `id ${ORDERS[direction].from} $1::bigint`;
  if (given.at(-1)?.kind === 'ids') return [`${where.pop()} AND ${start}`, ...where];
  if (isInBlocks) where.push(`${BLOCK} = ANY (ARRAY(SELECT block FROM blocks))`);
  return [[...where, start].join(' AND ')];
}

function conditionOf({ kind, column, values }: GivenCondition): string {
  if (kind === 'ids') return `${column} = ANY(${values.join()}::bigint[])`;
  if (kind === 'match') return column.replaceAll('$value', () => values.join());
  if (kind === 'since') return `${column} >= ${values.join()}`;
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
