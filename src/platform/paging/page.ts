import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { entityTagOf, serializeJson } from '../entity-tags/entity-tag';
import { JSON_TYPE } from '../errors/media-types';
import { platformErrors } from '../errors/platform.errors';
import { type Choice, Integer, OneOf } from '../validation/fields';
import { MAX_INT64, MIN_INT64, parseInt64 } from '../validation/int64';
import { declareField } from '../validation/validation.pipe';

/** The maximum number of items of a page. */
export const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;
/** Longer than any cursor that a list returns. */
const MAX_CURSOR_LENGTH = 256;

/** The order of a list: by ascending or by descending id. */
export type Sort = 'id' | '-id';

/** The filters of a list by parameter name; a list of values for a parameter that is repeated. */
export type Filters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The parameter `sort` of a list. */
const SORT: Choice<Sort> = {
  name: 'Sort',
  description: 'Order of a list: `id` is ascending, oldest first; `-id` is descending, newest first.',
  values: ['id', '-id'],
};

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
    { type: 'string', minLength: 1, maxLength: MAX_CURSOR_LENGTH, pattern: '^[A-Za-z0-9_-]+$' },
    // Any text is valid here: `pageRequestOf` rejects an invalid cursor.
    { rule: 'given once', isValid: (value) => typeof value === 'string' },
  )
  readonly cursor?: string;

  /** Returns the filters of this request by parameter name. A cursor is valid for the same filters only. */
  filters(): Filters {
    return {};
  }
}

/** The query parameters of a list that can be sorted both ways. Its `filters` include `sort` unless it is the default. */
export class SortedPageQuery extends PageQuery {
  @OneOf(SORT, { optional: true, default: 'id', description: 'Order of the list.', example: 'id' })
  readonly sort: Sort = 'id';

  override filters(): Filters {
    return this.sort === 'id' ? {} : { sort: this.sort };
  }
}

/** A cursor contains the name of its list, or the hash of a longer one. */
const MAX_NAME_LENGTH = 100;

export const DIRECTIONS = ['ascending', 'descending'] as const;

/** The order of the ids of a list. */
export type Direction = (typeof DIRECTIONS)[number];

/** A valid request for one page of a list. */
export interface PageRequest {
  /** The path of the list, relative to the base URL. */
  readonly path: string;
  /** The filters as in a URL. A cursor is valid for one path and its filters only. */
  readonly filters: string;
  /** Names the page: equal for two requests for one page. */
  readonly key: string;
  readonly limit: number;
  /** Rows to read: one more than the page has items, which shows whether a next page exists. */
  readonly count: number;
  readonly direction: Direction;
  /** The first id that the page may contain, in the direction of the list. */
  readonly first: bigint;
  /** True if the page begins after the item of a cursor. */
  readonly hasCursor: boolean;
}

/** One page of a list ordered by id. */
export interface Page<T> {
  readonly request: PageRequest;
  readonly items: readonly T[];
  /** The id after which the next page begins; undefined on the last page. */
  readonly next: bigint | undefined;
  /** Set by the first request of a route that sends the page, for all requests of this route that share it. */
  response?: PageResponse;
}

/** A page as the client receives it. */
interface PageResponse {
  /** The config of the route, which identifies it. Routes print different fields. */
  readonly route: object;
  /** The items as JSON. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Reads a request for a page of the list under a path.
 *
 * @throws ApiError `invalid_cursor` if the cursor is not one of this list
 */
export function pageRequestOf(path: string, query: PageQuery): PageRequest {
  const { limit, cursor } = query;
  const filters = search(query.filters());
  const list = `${path}?${filters}`;
  const direction = query instanceof SortedPageQuery && query.sort === '-id' ? 'descending' : 'ascending';
  const after = cursor === undefined ? undefined : decodeCursor(list, cursor);
  return {
    path,
    filters,
    key: `${after} ${limit} ${list}`,
    limit,
    count: limit + 1,
    direction,
    first: firstId(after, direction),
    hasCursor: after !== undefined,
  };
}

/** Cuts a page from at most `count` rows. If the extra row is present, a next page exists. */
export function cutPage<T extends { readonly id: bigint }>(
  request: PageRequest,
  rows: readonly T[],
): Page<T> {
  const items = rows.slice(0, request.limit);
  return { request, items, next: rows.length > request.limit ? items.at(-1)?.id : undefined };
}

/** Encodes an opaque cursor: the name of the list, and the id after which the page begins. */
export function encodeCursor(list: string, after: bigint): string {
  const name = list.length > MAX_NAME_LENGTH ? hash('sha256', list, 'base64url') : list;
  return Buffer.from(`${after}@${name}`).toString('base64url');
}

/** @throws ApiError `invalid_cursor` if `encodeCursor` did not return the cursor for the same list */
function decodeCursor(list: string, cursor: string): bigint {
  const [digits = ''] = Buffer.from(cursor, 'base64url').toString().split('@', 1);
  const after = parseInt64(digits);
  if (after === undefined || encodeCursor(list, after) !== cursor) throw platformErrors.invalid_cursor();
  return after;
}

function firstId(after: bigint | undefined, direction: Direction): bigint {
  const [first, last, step] =
    direction === 'ascending' ? [MIN_INT64, MAX_INT64, 1n] : [MAX_INT64, MIN_INT64, -1n];
  if (after === undefined) return first;
  // No list returns the cursor of its last possible id.
  return after === last ? last : after + step;
}

/** Writes filters as in a URL. Every list calls it: an array of pairs takes ten times as long. */
function search(filters: Filters): string {
  let text = '';
  for (const name of Object.keys(filters)) {
    const values = filters[name] ?? [];
    for (const value of typeof values === 'string' ? [values] : values)
      text += `${text && '&'}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}

/** Sets headers that link to other resources. Their base is the configured URL, never the Host header. */
@Injectable()
export class Links {
  private readonly baseUrl: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.baseUrl = config.publicBaseUrl;
  }

  /** Sets `Location` (RFC 9110, 10.2.2) of a resource that was just created under the path. */
  created<T extends { readonly id: bigint }>(reply: FastifyReply, path: string, resource: T): T {
    reply.header('Location', `${this.baseUrl}${path}/${resource.id}`);
    return resource;
  }

  /**
   * Sets `Link` (RFC 8288): `first` on every page but the first, `next` on every page but the last.
   *
   * @returns the body: the page's items as JSON
   */
  page(reply: FastifyReply, page: Page<unknown>): string {
    const { config: route } = reply.routeOptions;
    if (page.response?.route !== route) {
      const body = serializeJson(reply, page.items);
      const link = this.linkOf(page);
      const headers = {
        'Content-Type': JSON_TYPE,
        ...(link !== undefined && { Link: link }),
        ...(route.entityTag && { ETag: entityTagOf(body) }),
      };
      page.response = { route, body, headers };
    }
    reply.headers(page.response.headers);
    return page.response.body;
  }

  private linkOf({ request, next }: Page<unknown>): string | undefined {
    const { path, filters, limit, hasCursor } = request;
    if (!hasCursor && next === undefined) return undefined;
    const first = `${this.baseUrl}${path}?limit=${limit}${filters && `&${filters}`}`;
    const links = hasCursor ? [`<${first}>; rel="first"`] : [];
    // A cursor needs no percent-encoding.
    if (next !== undefined)
      links.push(`<${first}&cursor=${encodeCursor(`${path}?${filters}`, next)}>; rel="next"`);
    return links.join(', ');
  }
}
