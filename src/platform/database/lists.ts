import type { Type } from '@nestjs/common';
import {
  cutPage,
  type Direction,
  type Page,
  type PageQuery,
  type PageRequest,
  pageRequestOf,
  SortedPageQuery,
} from '../paging/page';
import { declareFilters } from '../validation/declare-field';
import { type Condition, pageStatement } from './page-statement';
import type { Sql, Statement } from './sql';

/** A table that is listed in the order of its `id`. */
export interface ListedTable<Row extends { readonly id: bigint }> {
  readonly table: string;
  /** The name of the list in its cursors. Default: the table. */
  readonly name?: string;
  /** The columns of a row, in the order that `read` takes them; without `read` named as its members. */
  readonly columns: string;
  readonly read?: (columns: never) => Row;
  /** The class of the rows in responses; `Query` needs it. */
  readonly type?: Type<object>;
}

interface ListFilters<Member extends string> {
  /** Columns whose value each request gives, such as the account. */
  readonly always?: readonly string[];
  /**
   * The columns of the filters that a request may have, by the members of its query, in the order of their index. A value
   * may be a list of values.
   */
  readonly filters?: Readonly<Record<Member, string>>;
  /** The columns of filters that few rows meet for most values, each with an index on it and `id` (decision 34). */
  readonly rare?: Readonly<Record<string, string>>;
  /** All values of filters that have few, by member. A request without them reads each, so no index lacks their columns. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  /** The member of the query with a list of ids. */
  readonly ids?: string;
  /**
   * By member of the query, a condition with an index, in any order of `id`. `$value` stands for the value, as in
   * `{ q: 'words(name) @@ $value::tsquery' }`. If the next 10,000 rows do not fill the page, all rows that match are read.
   */
  readonly matches?: Readonly<Record<string, string>>;
}

/** The values of `always` by column, and of filters that the query does not have. */
type GivenValues = Readonly<Record<string, unknown>>;

/** A valid request for a page, and the statement that reads its rows. */
interface SelectedPage {
  readonly request: PageRequest;
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

/**
 * Declares the list of a table: its pages in both orders of `id`, for every combination of its filters.
 *
 * `pages(KENNELS, { always: ['account_id'], filters: { town: 'town' } })` needs the indexes `(account_id, id)` and
 * `(account_id NULLS FIRST, town, id)`; with all `values` of the town only the second one.
 */
export function pages<Row extends { readonly id: bigint }, Member extends keyof Row & string = never>(
  table: ListedTable<Row>,
  filters: ListFilters<Member> = {},
): Pages<Row, Member> {
  return new Pages<Row, Member>(table, filters);
}

/**
 * Reads the pages of a list. An index on the columns of the filters and `id`, in this order, serves both directions at
 * any depth, and a statement is planned once. Decision 22 explains the row comparisons, the LIMITs, and NULLS FIRST;
 * decision 34 the lists of values,
 * `rare` and `matches`.
 */
export class Pages<Row extends { readonly id: bigint }, Member extends keyof Row> {
  /** By direction and number of values of each condition. */
  private readonly statements = new Map<string, Statement>();
  /** In the order of their parameters. */
  private readonly conditions: Condition[] = [];
  private readonly values: GivenValues;

  /** @internal */
  constructor(
    /** @internal */
    readonly table: ListedTable<Row>,
    { always = [], filters = {}, rare = {}, values = {}, ids, matches = {} }: ListFilters<string>,
  ) {
    this.values = values;
    const add = (kind: Condition['kind'], member: string, column: string) =>
      this.conditions.push({ kind, member, column });
    for (const column of always) add('always', column, column);
    for (const [member, column] of Object.entries(filters)) add('filter', member, column);
    for (const [member, column] of Object.entries(rare)) add('rare', member, column);
    for (const [member, condition] of Object.entries(matches)) add('match', member, condition);
    if (ids !== undefined) add('ids', ids, 'id');
  }

  /** A new class of queries, to be extended: `limit`, `cursor`, `sort`, and the filters with the fields of the rows. */
  get Query(): Type<SortedPageQuery & { readonly [Each in Member]?: Row[Each] }> {
    class Query extends SortedPageQuery {}
    if (!this.table.type)
      throw new Error(`The list of ${this.table.table} has no type: add the class of its rows.`);
    const members = this.conditions.flatMap(({ kind, member }) => (kind === 'filter' ? [member] : []));
    declareFilters(Query, this.table.type, members);
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
    const { table, name = table } = this.table;
    // The cursors of earlier versions have the path of the list.
    const request = pageRequestOf(`/${name.replaceAll('_', '/')}`, query);
    const parameters: unknown[] = [request.first, request.count];
    const all: GivenValues = Object.assign({}, query, given);
    const has = (...kinds: Condition['kind'][]) =>
      this.conditions.some(({ kind, member }) => kinds.includes(kind) && all[member] !== undefined);
    const values = has('always', 'filter') && !has('rare', 'match', 'ids') ? this.values : {};
    const counts = this.conditions.map(({ kind, member }) => {
      const value = (kind === 'always' ? given : all)[member] ?? values[member];
      if (value === undefined && kind === 'always') throw new Error(`the list of ${name} needs ${member}`);
      const each = Array.isArray(value) && value.length > 0 && kind !== 'ids' ? value : [value];
      return value === undefined ? 0 : parameters.push(...each) && each.length;
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

  private statementOf(counts: readonly number[], direction: Direction): Statement {
    let last = 2;
    const given = this.conditions
      .map((each, at) => ({ ...each, values: Array.from({ length: counts[at] ?? 0 }, () => `$${++last}`) }))
      .filter(({ values }) => values.length > 0);
    const { read } = this.table;
    return { ...(read && { read }), ...pageStatement(this.table, given, direction) };
  }
}
