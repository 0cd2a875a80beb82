import type { Type } from '@nestjs/common';
import {
  cutPage,
  type Direction,
  MAX_ITEMS,
  type Page,
  type PageQuery,
  type PageRequest,
  pageRequestOf,
  SortedPageQuery,
} from '../paging/page';
import { declareFilters } from '../validation/declare-field';
import type { Sql, Statement } from './sql';

/** A table that is listed in the order of its `id`. */
export interface ListedTable<Row extends { readonly id: bigint }> {
  readonly table: string;
  /** The columns of a row, in the order that `read` takes them; without `read` named as its members. */
  readonly columns: string;
  readonly read?: (columns: never) => Row;
  /** The class of the rows in responses; `Query` needs it. */
  readonly type?: Type<object>;
}

/** The filters of a list. */
interface ListFilters<Member extends string> {
  /** Columns of which each request gives the value, such as that of the account. */
  readonly always?: readonly string[];
  /** The columns of the filters that a request may have, by the members of its query. A value may be a list of values. */
  readonly filters?: Readonly<Record<Member, string>>;
  /** The columns of filters with few rows for each value. Their indexes also have the columns of `values`. */
  readonly rare?: Readonly<Record<string, string>>;
  /** The column of which a request gives the lowest value, by the member of its query. */
  readonly since?: Readonly<Record<string, string>>;
  /** All values of the filters with few values, by member: `rare` reads those of each. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  /** The member of the query with a list of ids. */
  readonly ids?: string;
}

/** The values of `always` by column, and of filters that the query does not have. */
type GivenValues = Readonly<Record<string, unknown>>;

/** A valid request for a page, and the statement that reads its rows. */
interface SelectedPage {
  readonly request: PageRequest;
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

/** A condition that a request may have. */
interface Condition {
  readonly kind: 'always' | 'filter' | 'rare' | 'since' | 'ids';
  /** The member of the query; the column of `always`. */
  readonly member: string;
  readonly column: string;
}

/** A condition of a statement, with the parameters of its values. */
type GivenCondition = Condition & { readonly values: readonly string[] };

/** The most rows that a page reads. */
const MAX_ROWS = MAX_ITEMS + 1;

/** If a request with `since` means at most as many rows, all of them are read and sorted. */
const MAX_LATE = 1_000;

/** Equal for 4,096 neighbouring ids. An index on blocks and a time finds the late rows of each block (decision 34). */
const BLOCK = '(id >> 12)';

/** 0 for each id. An index that begins with it serves no other page: by a column alone, the planner may prefer it. */
const ALL_IDS = '(id >> 62)';

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

/** Every list of this program. */
export const LISTS: Pages<{ readonly id: bigint }, never>[] = [];

/**
 * Declares the list of a table: its pages in both orders of `id`, for every combination of its filters.
 *
 * `pages(KENNELS, { always: ['account_id'], filters: { town: 'town' } })` needs the indexes `(account_id, id)` and
 * `(account_id NULLS FIRST, town, id)`. With all `values` of the town, `rare: { dogId: 'dog_id' }` needs
 * `(account_id NULLS FIRST, dog_id, town, id)`, and `since: { changedSince: 'changed_at' }` needs
 * `((id >> 12), account_id, changed_at, town)` and `((id >> 62), account_id, changed_at)`. The start names those that are
 * missing.
 */
export function pages<Row extends { readonly id: bigint }, Member extends keyof Row & string = never>(
  table: ListedTable<Row>,
  filters: ListFilters<Member> = {},
): Pages<Row, Member> {
  const list = new Pages<Row, Member>(table, filters);
  LISTS.push(list);
  return list;
}

/**
 * Reads the pages of a list. An index on the columns of the filters and `id`, in this order, serves both directions at
 * any depth, and a statement is planned once. Decision 22 explains the row comparisons, the LIMITs, and NULLS FIRST;
 * decision 34 the lists of values, `rare` and `since`.
 */
export class Pages<Row extends { readonly id: bigint }, Member extends keyof Row> {
  /** By direction and number of values of each condition. */
  private readonly statements = new Map<string, Statement>();
  /** In the order of their parameters. */
  private readonly conditions: readonly Condition[];
  private readonly values: GivenValues;

  /** @internal */
  constructor(
    /** @internal */
    readonly table: ListedTable<Row>,
    { always = [], filters = {}, rare = {}, since = {}, values = {}, ids }: ListFilters<string>,
  ) {
    this.values = values;
    const [many, few] = [false, true].map((isFew) =>
      conditionsOf('filter', filters).filter(({ member }) => member in values === isFew),
    ) as [Condition[], Condition[]];
    this.conditions = [
      ...conditionsOf('always', Object.fromEntries(always.map((column) => [column, column]))),
      ...many,
      ...conditionsOf('rare', rare),
      ...few,
      ...conditionsOf('since', since),
      ...conditionsOf('ids', ids === undefined ? {} : { [ids]: 'id' }),
    ];
  }

  /** A new class of queries, to be extended: `limit`, `cursor`, `sort`, and the filters with the fields of the rows. */
  get Query(): Type<SortedPageQuery & { readonly [Each in Member]?: Row[Each] }> {
    class Query extends SortedPageQuery {}
    if (!this.table.type)
      throw new Error(`The list of ${this.table.table} has no type: add the class of its rows.`);
    declareFilters(
      Query,
      this.table.type,
      this.of('filter', ({ member }) => member),
    );
    // The fields declare the members.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return Query as never;
  }

  /**
   * Reads the page that a query asks for.
   *
   * @throws ApiError `invalid_cursor`
   */
  list(sql: Sql, query: PageQuery, given?: GivenValues): Promise<Page<Row>> {
    return this.read(sql, this.select(query, given));
  }

  /** @throws ApiError `invalid_cursor` @internal */
  select(query: PageQuery, given: GivenValues = {}): SelectedPage {
    // The cursors of earlier versions have the path of the list.
    const request = pageRequestOf(`/${this.table.table.replaceAll('_', '/')}`, query);
    const parameters: unknown[] = [request.first, request.count];
    const all: GivenValues = Object.assign({}, query, given);
    const isRare = this.conditions.some(({ kind, member }) => kind === 'rare' && all[member] !== undefined);
    const counts = this.conditions.map(({ kind, member }) => {
      const value = (kind === 'always' ? given : all)[member] ?? (isRare ? this.values[member] : undefined);
      if (value === undefined && kind === 'always')
        throw new Error(`the list of ${this.table.table} needs ${member}`);
      const values = Array.isArray(value) && value.length > 0 && kind !== 'ids' ? value : [value];
      return value === undefined ? 0 : parameters.push(...values) && values.length;
    });
    const shape = `${request.direction} ${counts.join(' ')}`;
    const statement = this.statements.get(shape) ?? this.statementOf(counts, request.direction);
    this.statements.set(shape, statement);
    return { request, statement, parameters };
  }

  /** @internal */
  async read(sql: Sql, { request, statement, parameters }: SelectedPage): Promise<Page<Row>> {
    return cutPage(request, await sql.rows<Row>(statement, parameters));
  }

  /** Lists the columns of the indexes, for each combination of filters. @internal */
  indexes(): string[] {
    const columnsOf = (kind: Condition['kind']) => this.of(kind, ({ column }) => column);
    const [always, filters] = [columnsOf('always'), columnsOf('filter')];
    const few = this.conditions.flatMap(({ member, column }) => (member in this.values ? [column] : []));
    const many = subsetsOf(filters.filter((column) => !few.includes(column))).map((some) => [
      ...always,
      ...some,
    ]);
    return [
      ...subsetsOf(filters).map((some) => indexOn([...always, ...some])),
      ...columnsOf('rare').flatMap((column) => many.map((some) => indexOn([...some, column, ...few]))),
      ...columnsOf('since').flatMap((column) =>
        many.flatMap((some) => [
          [BLOCK, ...some, column, ...few].join(', '),
          [ALL_IDS, ...some, column].join(', '),
        ]),
      ),
    ];
  }

  private of<T>(wanted: Condition['kind'], read: (condition: Condition) => T): T[] {
    return this.conditions.filter(({ kind }) => kind === wanted).map(read);
  }

  /** Parameters: the first id, the number of rows, and the values of each condition. */
  private statementOf(counts: readonly number[], direction: Direction): Statement {
    const { table, columns, read } = this.table;
    const { order } = ORDERS[direction];
    let last = 2;
    const given = this.conditions
      .map((each, at) => ({ ...each, values: Array.from({ length: counts[at] ?? 0 }, () => `$${++last}`) }))
      .filter(({ values }) => values.length > 0);
    const has = (wanted: Condition['kind']) => given.some(({ kind }) => kind === wanted);
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
      return `
        (SELECT * FROM (
          SELECT * FROM (SELECT * FROM ${table} WHERE ${range} ORDER BY ${orderBy} LIMIT ${MAX_ROWS}) AS rows
          ORDER BY ${orderBy} LIMIT ${limit}
        ) AS few WHERE ${['true', ...others].join(' AND ')} ORDER BY id ${order})`;
    });
    const all = parts.join(' UNION ALL ');
    return {
      ...(read && { read }),
      ...(has('rare') || has('since') ? { isPlannedAnew: true } : { isPipelined: true }),
      // The rows are sorted by columns that `columns` may lack.
      text: `${has('since') ? this.lateOf(given, all, direction) : `SELECT ${columns} FROM (${all}) AS page`} ORDER BY id ${order} LIMIT $2`,
    };
  }

  /** Reads the late rows by their time if they are few, and otherwise the parts. */
  private lateOf(given: readonly GivenCondition[], parts: string, direction: Direction): string {
    const { table, columns } = this.table;
    const { from } = ORDERS[direction];
    const isEarly = ({ kind, member }: Condition) => kind !== 'rare' && !(member in this.values);
    const early = given.filter(isEarly);
    const sorted = [ALL_IDS, ...early.map(({ column }) => column)];
    const areMany = `(SELECT count(*) FROM late) > ${MAX_LATE}`;
    return `
      WITH RECURSIVE ${blocksOf(table, from)}, late AS MATERIALIZED (
        SELECT * FROM ${table} WHERE ${[`${ALL_IDS} = 0`, ...early.map(conditionOf)].join(' AND ')}
        ORDER BY ${sorted.join(', ')} LIMIT ${MAX_LATE + 1}
      )
      SELECT ${columns} FROM (
        SELECT * FROM late WHERE ${[`id ${from} $1`, ...given.filter((each) => !isEarly(each)).map(conditionOf)].join(' AND ')} AND NOT ${areMany}
        UNION ALL SELECT * FROM (${parts}) AS many WHERE ${areMany}
      ) AS page`;
  }
}

function conditionsOf(kind: Condition['kind'], columns: Readonly<Record<string, string>>): Condition[] {
  return Object.entries(columns).map(([member, column]) => ({ kind, member, column }));
}

/** Lists the combinations of the values of all conditions. */
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
    // Also the first: then the parts of several values are sorted by id, and are merged as far as the page needs.
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

/** Lists the columns of the index of a page. */
function indexOn([first, ...others]: readonly string[]): string {
  if (first === undefined) return 'id';
  return [others.length > 0 ? `${first} NULLS FIRST` : first, ...others, 'id'].join(', ');
}

/** Lists the combinations of names, with none and with all of them. */
function subsetsOf(names: readonly string[]): string[][] {
  const [last] = names.slice(-1);
  if (last === undefined) return [[]];
  const subsets = subsetsOf(names.slice(0, -1));
  return [...subsets, ...subsets.map((each) => [...each, last])];
}

function tuple(names: readonly string[]): string {
  return `(${names.join(', ')})`;
}
