import { hash } from 'node:crypto';
import { commonErrors } from '../errors/common.errors';
import { Integer, OneOf } from '../fields/fields';
import { MAX_INT64, MIN_INT64, parseInt64 } from '../fields/int64';
import { declareField } from '../fields/validation.pipe';

export const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;
/** Longer than any cursor that a list returns. */
const MAX_CURSOR_LENGTH = 512;

/** The query parameters of every list. A list adds its filters in a subclass. */
export class PageQuery {
  @Integer({
    min: 1,
    max: MAX_ITEMS,
    default: DEFAULT_ITEMS,
    optional: true,
    description: 'Maximum number of items to return.',
    example: DEFAULT_ITEMS,
  })
  readonly limit: number = DEFAULT_ITEMS;

  @declareField(
    {
      optional: true,
      description:
        'The start of the page. Opaque: take it from the `Link` header of the previous page. Leave it out for the first page.',
    },
    {
      schema: { type: 'string', minLength: 1, maxLength: MAX_CURSOR_LENGTH, pattern: '^[A-Za-z0-9_-]+$' },
      rule: 'given once',
      // Any text is valid here: `pageRequestOf` rejects an invalid cursor.
      isValid: (value) => typeof value === 'string',
    },
  )
  readonly cursor?: string;
}

/** The query parameters of a list that can be sorted both ways. */
export class SortedPageQuery extends PageQuery {
  @OneOf(
    {
      name: 'Sort',
      description: 'Order of a list: `id` is ascending, oldest first; `-id` is descending, newest first.',
      values: ['id', '-id'],
    },
    { optional: true, default: 'id', description: 'Order of the list.', example: 'id' },
  )
  readonly sort: 'id' | '-id' = 'id';
}

/** The members of a query that are not filters. */
const OF_PAGES: ReadonlySet<string> = new Set<keyof SortedPageQuery>(['limit', 'cursor', 'sort']);

/** A cursor contains the name of its list, or the hash of a longer one. */
const MAX_NAME_LENGTH = 100;

/** A valid request for one page of a list. */
export type PageRequest = ReturnType<typeof pageRequestOf>;

/** One page of a list ordered by id. A handler returns it: the body is its items, and `Link` has its neighbours. */
export class Page<T> {
  /** Set by the first request of a route that sends the page, for all requests of this route that share it. @internal */
  response?: {
    /** The config of the route, which identifies it. Routes print different fields. */
    readonly route: object;
    /** The items as JSON. */
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
  };

  /**
   * @param next the id after which the next page begins; undefined on the last page
   * @param printed the items as JSON; default: the serializer of the route prints them
   */
  constructor(
    readonly request: PageRequest,
    readonly items: readonly T[],
    readonly next: bigint | undefined,
    readonly printed?: string,
  ) {}

  /** @internal */
  get nextCursor(): string | undefined {
    return this.next === undefined ? undefined : encodeCursor(this.request.list, this.next);
  }

  /**
   * Returns the value of `Link` (RFC 8288): `first` on every page but the first, `next` on every page but the last.
   *
   * @param url of the list, without a query
   * @internal
   */
  linksAt(url: string): string | undefined {
    const { request, nextCursor } = this;
    if (request.after === undefined && nextCursor === undefined) return undefined;
    const filters = request.list.slice(request.list.indexOf('?') + 1);
    const first = `${url}?limit=${request.limit}${filters && `&${filters}`}`;
    const links = request.after === undefined ? [] : [`<${first}>; rel="first"`];
    // A cursor needs no percent-encoding.
    if (nextCursor !== undefined) links.push(`<${first}&cursor=${nextCursor}>; rel="next"`);
    return links.join(', ');
  }

  /** Returns the page with other items in the places of its own. */
  with<Other>(items: readonly Other[]): Page<Other> {
    return new Page(this.request, items, this.next);
  }
}

/** @throws ApiError `invalid_cursor` if the cursor is not one of this list */
export function pageRequestOf(name: string, query: PageQuery) {
  const { limit, cursor } = query;
  const isDescending = 'sort' in query && query.sort === '-id';
  const list = `${name}?${filtersOf(query, isDescending)}`;
  const after = cursor === undefined ? undefined : decodeCursor(list, cursor);
  const [start, step] = isDescending ? [MAX_INT64, -1n] : [MIN_INT64, 1n];
  return {
    /** The name of the list and its filters as in a URL. A cursor is valid for the same ones only. */
    list,
    /** Names the page: equal for two requests for one page. */
    key: `${after} ${limit} ${list}`,
    limit,
    /** Rows to read: one more than the page has items, which shows whether a next page exists. */
    count: limit + 1,
    direction: isDescending ? ('descending' as const) : ('ascending' as const),
    /**
     * The first id that the page may contain, in the direction of the list. No list returns the cursor of the last possible
     * id: after it, the first one follows.
     */
    first: after === undefined ? start : BigInt.asIntN(64, BigInt(after) + step),
    /** The id after which the page begins, as the cursor has it. */
    after,
  };
}

/** Cuts a page from at most `count` rows. If the extra row is present, a next page exists. */
export function cutPage<T extends { readonly id: bigint }>(request: PageRequest, rows: readonly T[]) {
  const items = rows.slice(0, request.limit);
  return new Page(request, items, rows.length > request.limit ? items.at(-1)?.id : undefined);
}

/** Encodes an opaque cursor: the name of the list, and the id after which the page begins. */
function encodeCursor(list: string, after: bigint | string): string {
  const name = list.length > MAX_NAME_LENGTH ? hash('sha256', list, 'base64url') : list;
  return Buffer.from(`${after}@${name}`).toString('base64url');
}

/** @throws ApiError `invalid_cursor` if `encodeCursor` did not return the cursor for the same list */
function decodeCursor(list: string, cursor: string): string {
  const [after = ''] = Buffer.from(cursor, 'base64url').toString().split('@', 1);
  if (parseInt64(after) === undefined || encodeCursor(list, after) !== cursor)
    throw commonErrors.invalid_cursor();
  return after;
}

/** Writes the filters of a query, and an order that is not the default, as in a URL. */
function filtersOf(query: PageQuery, isDescending: boolean): string {
  let text = '';
  // Every list runs it: an array of pairs takes ten times as long.
  for (const [name, given] of Object.entries(query)) {
    if (OF_PAGES.has(name) || given === undefined) continue;
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    for (const value of values) text += `${text && '&'}${name}=${encodeURIComponent(String(value))}`;
  }
  return isDescending ? `${text}${text && '&'}sort=-id` : text;
}
