import { hash } from 'node:crypto';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { invalidCursor } from '../errors/http.errors';
import { Integer } from './fields/integer';
import { type Choice, OneOf } from './fields/one-of';
import { MAX_INT64, MIN_INT64, parseInt64 } from './int64';
import { IsOmittable } from './omittable.decorator';

/** The maximum number of items of a page. */
export const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;
/** Longer than any cursor that a list returns. */
const MAX_CURSOR_LENGTH = 256;
/** A cursor contains the name of its list, or the hash of a longer one. */
const MAX_NAME_LENGTH = 100;

/** The order of a list: by ascending or by descending id. */
export const SORTS = ['id', '-id'] as const;

export type Sort = (typeof SORTS)[number];

/** The filters of a list by parameter name; a list of values for a parameter that is repeated. */
export type Filters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The parameter `sort` of a list. */
export const SORT: Choice = {
  name: 'Sort',
  description: 'Order of a list: `id` is ascending, oldest first; `-id` is descending, newest first.',
  values: SORTS,
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

  @ApiPropertyOptional({
    type: 'string',
    // No example: Swagger UI would send it.
    minLength: 1,
    maxLength: MAX_CURSOR_LENGTH,
    pattern: '^[A-Za-z0-9_-]+$',
    description:
      'The start of the page. Opaque: take it from the `Link` header of the previous page. Leave it out for the first page.',
  })
  @IsOmittable()
  @IsString({ message: 'cursor must be given once' })
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
    return { sort: this.sort === 'id' ? undefined : this.sort };
  }
}

/** One page of a list ordered by id. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The id after which the next page begins; undefined on the last page. */
  readonly next: bigint | undefined;
  /** Set by the first request that sends the page, for all requests that share it. */
  response?: PageResponse;
}

/** A page as the client receives it. */
export interface PageResponse {
  /** The items as JSON. */
  readonly body: string;
  /** The `Link` header (RFC 8288); undefined if the page is the only one. */
  readonly link: string | undefined;
  /** The `ETag` header. */
  readonly tag: string;
}

/** Cuts a page from at most `limit + 1` rows. If the extra row is present, a next page exists. */
export function cutPage<T extends { readonly id: bigint }>(rows: readonly T[], limit: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? items.at(-1)?.id : undefined };
}

/** Encodes an opaque cursor: the list with its filters, and the id after which the page begins. */
export function encodeCursor(list: string, after: bigint): string {
  const name = list.length > MAX_NAME_LENGTH ? hash('sha256', list, 'base64url') : list;
  return Buffer.from(`${after}@${name}`).toString('base64url');
}

/**
 * Returns the id after which a page begins; undefined for the first page.
 *
 * @throws ApiError `invalid_cursor` if `encodeCursor` did not return it for the same list
 */
export function decodeCursor(list: string, cursor: string | undefined): bigint | undefined {
  if (cursor === undefined) return undefined;
  const [digits = ''] = Buffer.from(cursor, 'base64url').toString().split('@', 1);
  const after = parseInt64(digits);
  if (after === undefined || encodeCursor(list, after) !== cursor) throw invalidCursor();
  return after;
}

export function directionOf(sort: Sort): 'ascending' | 'descending' {
  return sort === 'id' ? 'ascending' : 'descending';
}

/** Returns the first id that a page may contain, in the order of the list. */
export function firstId(after: bigint | undefined, sort: Sort): bigint {
  const [first, last, step] = sort === 'id' ? [MIN_INT64, MAX_INT64, 1n] : [MAX_INT64, MIN_INT64, -1n];
  if (after === undefined) return first;
  // No list returns the cursor of its last possible id.
  return after === last ? last : after + step;
}
