import type { Type } from '@nestjs/common';
import {
  cutPage,
  type Direction,
  MAX_ITEMS,
  type Page,
  type PageQuery,
  pageRequestOf,
  SortedPageQuery,
} from '../paging/page';
import { declareFilters } from '../validation/validation.pipe';
import type { Sql, Statement } from './sql';

/** A table that is listed in the order of its `id`. */
export interface ListedTable<Row extends { readonly id: bigint }> {
  readonly table: string;
  /** The columns of a row, in the order that `read` takes them. */
  readonly columns: string;
  readonly read: (columns: never) => Row;
  /** The class of the rows in responses; `Query` needs it. */
  readonly type?: Type<object>;
}

/** The filters of a list. */
interface ListFilters<Member extends string> {
  /** Columns of which each request gives the value, such as that of the account. */
  readonly always?: readonly string[];
  /** The columns of the filters that a request may have, by the members of its query. */
  readonly filters?: Readonly<Record<Member, string>>;
  /** The member of the query with a list of ids. */
  readonly ids?: string;
}

/** The values of `always` by column, and of filters that the query does not have. */
type GivenValues = Readonly<Record<string, unknown>>;

/** How the statements of a direction differ. An index on two or more columns before `id` has NULLS FIRST. */
const ORDERS = {
  ascending: { from: '>=', to: '<=', order: 'ASC', nulls: 'NULLS FIRST' },
  descending: { from: '<=', to: '>=', order: 'DESC', nulls: 'NULLS LAST' },
} as const;

/** Every list of this program. */
const LISTS: Pages<{ readonly id: bigint }, never>[] = [];

/**
 * Declares the list of a table: its pages in both orders of `id`, for every combination of its filters.
 *
 * `pages(KENNELS, { always: ['account_id'], filters: { town: 'town' } })` needs the indexes `(account_id, id)` and
 * `(account_id NULLS FIRST, town, id)`. The start names those that are missing.
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
 * any depth, and a statement is planned once. Decision 22 explains the row comparisons, the constant inner LIMIT, and
 * NULLS FIRST.
 */
export class Pages<Row extends { readonly id: bigint }, Member extends keyof Row> {
  /** By combination of members: a bit for each of them. */
  private readonly statements: Record<Direction, Statement[]> = { ascending: [], descending: [] };
  private readonly always: readonly string[];
  /** Those of the filters. */
  private readonly columns: readonly string[];
  /** Those of the filters, then that of the list of ids. */
  private readonly members: readonly string[];

  /** @internal */
  constructor(
    /** @internal */
    readonly table: ListedTable<Row>,
    { always = [], filters = {}, ids }: ListFilters<string>,
  ) {
    this.always = always;
    this.columns = Object.values(filters);
    this.members = Object.keys(filters).concat(ids ?? []);
  }

  /** A new class of queries, to be extended: `limit`, `cursor`, `sort`, and the filters with the fields of the rows. */
  get Query(): Type<SortedPageQuery & { readonly [Each in Member]?: Row[Each] }> {
    class Query extends SortedPageQuery {}
    const { table, type } = this.table;
    if (!type) throw new Error(`The list of ${table} has no type: add the class of its rows.`);
    declareFilters(Query, type, this.members.slice(0, this.columns.length));
    // The fields declare the members.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return Query as never;
  }

  /** Reads the page that a query asks for. @throws ApiError `invalid_cursor` */
  list(sql: Sql, query: PageQuery, given?: GivenValues): Promise<Page<Row>> {
    return this.read(sql, this.select(query, given));
  }

  /** @throws ApiError `invalid_cursor` @internal */
  select(query: PageQuery, given: GivenValues = {}) {
    // The cursors of earlier versions have the path of the list.
    const request = pageRequestOf(`/${this.table.table.replaceAll('_', '/')}`, query);
    const parameters: unknown[] = [request.first, request.count];
    for (const column of this.always) {
      if (given[column] === undefined) throw new Error(`the list of ${this.table.table} needs ${column}`);
      parameters.push(given[column]);
    }
    const values: GivenValues = Object.assign({}, query, given);
    let combination = 0;
    for (const [at, member] of this.members.entries()) {
      if (values[member] === undefined) continue;
      combination |= 1 << at;
      parameters.push(values[member]);
    }
    const known = this.statements[request.direction];
    const statement = (known[combination] ??= this.statementOf(combination, request.direction));
    return { request, statement, parameters };
  }

  /** @internal */
  async read(sql: Sql, page: ReturnType<Pages<Row, Member>['select']>): Promise<Page<Row>> {
    return cutPage(page.request, await sql.rows<Row>(page.statement, page.parameters));
  }

  /** Lists the columns of the indexes: one for each combination of filters. @internal */
  indexes(): string[] {
    return Array.from({ length: 1 << this.columns.length }, (_, combination) => {
      const [first, ...others] = this.columnsOf(combination);
      if (first === undefined) return 'id';
      return [others.length > 0 ? `${first} NULLS FIRST` : first, ...others, 'id'].join(', ');
    });
  }

  private columnsOf(combination: number): string[] {
    return this.always.concat(this.columns.filter((_, at) => combination & (1 << at)));
  }

  /** Parameters: the first id, the number of rows, the values of the columns, and the ids. */
  private statementOf(combination: number, direction: Direction): Statement {
    const { table, columns, read } = this.table;
    const { from, to, order, nulls } = ORDERS[direction];
    const fixed = this.columnsOf(combination);
    const values = fixed.map((_, at) => `$${at + 3}`);
    const isOfIds = combination >> this.columns.length > 0;
    const sorted = isOfIds ? ['id'] : [...fixed, 'id'];
    const where = isOfIds
      ? [`id = ANY($${fixed.length + 3}::bigint[])`, `id ${from} $1`]
      : [`${tuple(sorted)} ${from} ${tuple([...values, '$1'])}`];
    if (isOfIds) where.push(...fixed.map((each, at) => `${each} = ${values[at]}`));
    else if (fixed.length > 0) where.push(`${tuple(fixed)} ${to} ${tuple(values)}`);
    const first = sorted.length > 2 ? `${order} ${nulls}` : order;
    const orderBy = sorted.map((column, at) => `${column} ${at === 0 ? first : order}`).join(', ');
    // The rows are sorted by columns that `columns` may lack.
    const rows = `SELECT * FROM ${table} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT ${MAX_ITEMS + 1}`;
    return {
      read,
      isPipelined: true,
      text: `SELECT ${columns} FROM (${rows}) AS page ORDER BY ${orderBy} LIMIT $2`,
    };
  }
}

function tuple(names: readonly string[]): string {
  return `(${names.join(', ')})`;
}

/** The definitions of the whole and valid indexes of each table, without quotes. A comma ends each column. */
const FIND_INDEXES = `
  SELECT name, ARRAY(
    SELECT translate(pg_get_indexdef(indexrelid), ')"', ',') FROM pg_index
    WHERE indrelid = t.oid AND indisvalid AND indpred IS NULL
  ) AS known
  FROM unnest($1::text[]) AS name JOIN pg_class t ON t.oid = to_regclass(name) AND t.relkind IN ('r', 'p')`;

/** Lists the statements that create the missing indexes of each list whose table exists. */
export async function missingIndexes(sql: Sql): Promise<string[]> {
  const names = LISTS.map(({ table }) => table.table);
  const found = await sql.rows<{ name: string; known: string[] }>(FIND_INDEXES, [names]);
  const missing = found.flatMap(({ name, known }) =>
    LISTS.filter(({ table }) => table.table === name)
      .flatMap((list) => list.indexes())
      .filter((columns) => !known.some((each) => each.includes(`btree (${columns.replaceAll('"', '')},`)))
      .map((columns) => `CREATE INDEX ON ${name} (${columns})`),
  );
  return [...new Set(missing)];
}
