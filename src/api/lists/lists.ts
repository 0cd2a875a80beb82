import { cutPage, MAX_ITEMS, type Page, type PageQuery, type PageRequest, pageRequestOf } from './page';
import type { CoalescedRead } from '../../database/coalesced-read';
import type { Sql, Statement } from '../../database/sql';

interface Listed {
  readonly id: bigint;
}

/** A table that is listed in the order of its `id`. */
interface ListedTable<Row extends Listed> {
  readonly table: string;
  /** The name of the list in its cursors. Default: the table. */
  readonly name?: string;
  /** The columns of a row, in the order that `read` takes them; without `read` named as its members. */
  readonly columns: string;
  readonly read?: (columns: never) => Row;
}

interface ListFilters {
  /** Columns whose value each request gives, such as the account. */
  readonly always?: readonly string[];
  /**
   * The columns of the filters that a request may have, by the members of its query, in the order of their index. A value
   * may be a list of values.
   */
  readonly filters?: Readonly<Record<string, string>>;
  /** The columns of filters that few rows meet for most values, each with an index on it and `id` (decision 34). */
  readonly rare?: Readonly<Record<string, string>>;
  /** All values of filters that have few, by member. A request without them reads each, so no index lacks their columns. */
  readonly values?: GivenValues;
  /** The member of the query with a list of ids. */
  readonly ids?: string;
  readonly search?: Search;
}

/** A filter whose index has another order than that of `id`, such as one on words (decision 38). */
interface Search {
  /** The member of the query. */
  readonly member: string;
  /** `$value` stands for the value, as in `words(name) @@ $value::tsquery`. */
  readonly condition: string;
  /**
   * Returns a condition that the index has for the rows from the id `first` on up to another one, of its choice. If these
   * rows fill a page, no others are read. `step` is the direction of the page.
   */
  readonly near: (first: string, step: '+' | '-') => string;
}

/** Values by member of the query; those of `always` by column. */
type GivenValues = Readonly<Record<string, unknown>>;

interface Condition {
  readonly kind: 'always' | 'filter' | 'rare' | 'search' | 'ids';
  /** The member of the query; the column of `always`. */
  readonly member: string;
  /** The column, or the whole condition of `search`. */
  readonly sql: string;
}

/** How the statements of a direction differ. An index on two or more columns before `id` has NULLS FIRST. */
const ORDERS = {
  ascending: { from: '>=', to: '<=', step: '+', order: 'ASC', nulls: 'NULLS FIRST' },
  descending: { from: '<=', to: '>=', step: '-', order: 'DESC', nulls: 'NULLS LAST' },
} as const;

/**
 * Declares the list of a table: its pages in both orders of `id`, for every combination of its filters.
 *
 * `pages(KENNELS, { always: ['account_id'], filters: { town: 'town' } })` needs the indexes `(account_id, id)` and
 * `(account_id NULLS FIRST, town, id)`; with all `values` of the town only the second one.
 */
export function pages<Row extends Listed>(table: ListedTable<Row>, filters: ListFilters = {}): Pages<Row> {
  return new Pages(table, filters);
}

/**
 * Reads the pages of a list. An index on the columns of the filters and `id`, in this order, serves both directions at
 * any depth, and a statement is planned once. Decision 22 explains the row comparisons, the LIMITs, and NULLS FIRST;
 * decision 34 the lists of values and `rare`, decision 38 `search`.
 */
export class Pages<Row extends Listed> {
  /** By direction and number of values of each condition. */
  private readonly statements = new Map<string, Statement>();
  /** In the order of their parameters. */
  private readonly conditions: readonly Condition[];
  /** Names the list in its cursors: those of earlier versions have its path. */
  private readonly path: string;

  /** @internal */
  constructor(
    private readonly table: ListedTable<Row>,
    private readonly filters: ListFilters,
  ) {
    const { always = [], filters: ranges = {}, rare = {}, ids, search } = filters;
    this.path = `/${(table.name ?? table.table).replaceAll('_', '/')}`;
    this.conditions = [
      ...conditionsOf('always', Object.fromEntries(always.map((column) => [column, column]))),
      ...conditionsOf('filter', ranges),
      ...conditionsOf('rare', rare),
      ...conditionsOf('search', search ? { [search.member]: search.condition } : {}),
      ...conditionsOf('ids', ids === undefined ? {} : { [ids]: 'id' }),
    ];
  }

  /**
   * Reads the page that a query asks for.
   *
   * @param given the values of `always`, and of filters that the query does not have
   * @param shared lets concurrent requests for one page share a query
   * @throws ApiError `invalid_cursor`
   */
  list(
    sql: Sql,
    query: PageQuery,
    given: GivenValues = {},
    shared?: CoalescedRead<Page<Row>>,
  ): Promise<Page<Row>> {
    const request = pageRequestOf(this.path, query);
    const read = async () => cutPage(request, await this.rows(sql, request, query, given));
    return shared ? shared.read(request.key, read) : read();
  }

  private rows(sql: Sql, request: PageRequest, query: PageQuery, given: GivenValues): Promise<Row[]> {
    const parameters: unknown[] = [request.first, request.count];
    const all: GivenValues = Object.assign({}, query, given);
    const has = (...kinds: Condition['kind'][]) =>
      this.conditions.some(({ kind, member }) => kinds.includes(kind) && all[member] !== undefined);
    const presets =
      has('always', 'filter') && !has('rare', 'search', 'ids') ? this.filters.values : undefined;
    const counts = this.conditions.map(({ kind, member }) => {
      // A client must not choose the account.
      const value = (kind === 'always' ? given : all)[member] ?? presets?.[member];
      if (value === undefined && kind === 'always')
        throw new Error(`the list of ${this.table.table} needs ${member}`);
      const each = Array.isArray(value) && value.length > 0 && kind !== 'ids' ? value : [value];
      return value === undefined ? 0 : parameters.push(...each) && each.length;
    });
    const shape = `${request.direction} ${counts.join(' ')}`;
    const statement = this.statements.get(shape) ?? this.statementOf(counts, request.direction);
    this.statements.set(shape, statement);
    return sql.rows<Row>(statement, parameters);
  }

  /** Builds a statement. Its parameters are the first id, the number of rows, and the values of each condition. */
  private statementOf(counts: readonly number[], direction: PageRequest['direction']): Statement {
    const { table, columns, read } = this.table;
    const { from, order, step } = ORDERS[direction];
    let last = 2;
    const given = this.conditions
      .map((each, at) => ({ ...each, values: Array.from({ length: counts[at] ?? 0 }, () => `$${++last}`) }))
      .filter(({ values }) => values.length > 0);
    const has = (wanted: Condition['kind']) => given.some(({ kind }) => kind === wanted);
    const start = `id ${from} $1::bigint`;
    const end = `ORDER BY id ${order} LIMIT $2`;
    const select = (rows: string) => ({
      ...(read && { read }),
      text: `SELECT ${columns} FROM ${rows} ${end}`,
    });
    // OFFSET 0: the planner must not walk over all rows by id.
    const found = (conditions: string) =>
      `(SELECT * FROM ${table} WHERE ${conditions} AND ${start} OFFSET 0) AS found`;
    if (has('ids')) {
      const ids = allOf(given.filter(({ kind }) => kind === 'ids'));
      const others = allOf(given.filter(({ kind }) => kind !== 'ids'));
      return { isPipelined: true, ...select(`${found(ids)} WHERE ${others}`) };
    }
    const { search } = this.filters;
    if (search && has('search')) {
      const first = `(SELECT id FROM ${table} WHERE ${start} ORDER BY id ${order} LIMIT 1)`;
      const pageOf = (rows: string) => `SELECT * FROM ${found(`${allOf(given)} AND ${rows}`)} ${end}`;
      const isFull = '(SELECT count(*) = $2 FROM near)';
      const page = `SELECT * FROM near WHERE ${isFull} UNION ALL (${pageOf(`NOT ${isFull}`)})`;
      const { text, ...rest } = select(`(${page}) AS page`);
      const near = pageOf(search.near(first, step));
      return { isPlannedAnew: true, ...rest, text: `WITH near AS (${near}) ${text}` };
    }
    if (has('rare')) return { isPlannedAnew: true, ...select(`${table} WHERE ${allOf(given)} AND ${start}`) };
    return { isPipelined: true, ...select(rangesOf(table, given, direction)) };
  }
}

function conditionsOf(kind: Condition['kind'], byMember: Readonly<Record<string, string>>): Condition[] {
  return Object.entries(byMember).map(([member, sql]) => ({ kind, member, sql }));
}

/** A condition of a statement, with the parameters of its values. */
type GivenCondition = Condition & { readonly values: readonly string[] };

/** Builds the rows of a page: a range of the index on the columns and `id` for each combination of values. */
function rangesOf(
  table: string,
  given: readonly GivenCondition[],
  direction: PageRequest['direction'],
): string {
  const { from, to, order, nulls } = ORDERS[direction];
  const columns = [...given.map(({ sql }) => sql), 'id'];
  const orderBy = columns
    .map((column, at) => `${column} ${at === 0 && columns.length > 2 ? `${order} ${nulls}` : order}`)
    .join(', ');
  const combinations = given.reduce<string[][]>(
    (all, { values }) => all.flatMap((some) => values.map((value) => [...some, value])),
    [[]],
  );
  const parts = combinations.map((values) => {
    const start = `(${columns.join(', ')}) ${from} (${[...values, '$1'].join(', ')})`;
    const range = given.length === 0 ? start : `${start} AND ${columns[0]} ${to} ${values[0]}`;
    // The most rows that a page reads: the plan for all requests must expect no more.
    const rows = `(SELECT * FROM ${table} WHERE ${range} ORDER BY ${orderBy} LIMIT ${MAX_ITEMS + 1}) AS rows`;
    if (given.length === 0) return rows;
    // Also the first: then each part is sorted by id, and PostgreSQL merges them as far as the page needs.
    const conditions = values.map((value, at) => `${columns[at]} = ${value}`).join(' AND ');
    // The rows of other values: at most a page.
    return `(SELECT * FROM ${rows} ORDER BY ${orderBy} LIMIT $2) AS few WHERE ${conditions}`;
  });
  // Each level of a statement costs 2 to 5 % of its time.
  if (parts.length === 1) return parts.join();
  return `(${parts.map((part) => `(SELECT * FROM ${part} ORDER BY id ${order})`).join(' UNION ALL ')}) AS page`;
}

function allOf(given: readonly GivenCondition[]): string {
  return given.length === 0 ? 'true' : given.map(conditionOf).join(' AND ');
}

function conditionOf({ kind, sql, values }: GivenCondition): string {
  if (kind === 'search') return sql.replaceAll('$value', () => values.join());
  if (kind === 'ids') return `${sql} = ANY(${values.join()}::bigint[])`;
  return `${sql} ${values.length > 1 ? `IN (${values.join(', ')})` : `= ${values.join()}`}`;
}
