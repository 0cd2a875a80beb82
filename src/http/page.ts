import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsString, Max, Min } from 'class-validator';
import { invalidCursor } from '../errors/http.errors';
import { FromText } from './from-text.decorator';
import { parseInt64 } from './int64';
import { IsOmittable } from './omittable.decorator';

/** Most items of a page. */
export const MOST_ITEMS = 100;
const DEFAULT_ITEMS = 20;
/** Longer than any cursor that a list makes. */
const CURSOR_MAX_LENGTH = 256;
const PLAIN_NUMBER = /^[1-9][0-9]{0,2}$/;

/** The query parameters that every list has. A list adds its filters by extending it. */
export class PageQuery {
  @ApiPropertyOptional({
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: MOST_ITEMS,
    default: DEFAULT_ITEMS,
    description: 'Maximum number of items to return.',
    example: DEFAULT_ITEMS,
  })
  @FromText(plainNumber)
  @IsInt({ message: `limit must be a whole number from 1 to ${MOST_ITEMS}` })
  @Min(1, { message: `limit must be a whole number from 1 to ${MOST_ITEMS}` })
  @Max(MOST_ITEMS, { message: `limit must be a whole number from 1 to ${MOST_ITEMS}` })
  readonly limit: number = DEFAULT_ITEMS;

  @ApiPropertyOptional({
    type: 'string',
    // No example: Swagger UI would send it.
    minLength: 1,
    maxLength: CURSOR_MAX_LENGTH,
    pattern: '^[A-Za-z0-9_-]+$',
    description:
      'Where the page begins. Opaque: take it from the `Link` header of the page before it. Left out: the first page.',
  })
  @IsOmittable()
  @IsString({ message: 'cursor must be given once' })
  readonly cursor?: string;

  /** The filters in force, by the name of their parameter. */
  filters(): Readonly<Record<string, string | undefined>> {
    return {};
  }
}

/** One page of a list ordered by ascending id. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The id after which the next page begins; undefined on the last page. */
  readonly next: bigint | undefined;
  /** What the first reply with the page has made of it, for all that share it. */
  answer?: PageAnswer;
}

/** A page as it is sent. */
export interface PageAnswer {
  /** The items as JSON. */
  readonly body: string;
  /** Where to go on (RFC 8288); undefined where the page is the only one. */
  readonly link: string | undefined;
}

/**
 * Cuts a page from rows of which one more than the page holds was asked for: its presence is what tells
 * that a next page exists.
 */
export function cutPage<T extends { readonly id: bigint }>(rows: readonly T[], limit: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? items.at(-1)?.id : undefined };
}

/** An opaque cursor: the list it belongs to, filters included, and the id after which it goes on. */
export function encodeCursor(list: string, after: bigint): string {
  return Buffer.from(`${after}@${list}`).toString('base64url');
}

/**
 * The id after which a page begins; undefined for the first page.
 *
 * @throws ApiError `invalid_cursor` for anything that `encodeCursor` did not make for the same list
 */
export function decodeCursor(list: string, cursor: string | undefined): bigint | undefined {
  if (cursor === undefined) return undefined;
  const [digits = ''] = Buffer.from(cursor, 'base64url').toString().split('@', 1);
  const after = parseInt64(digits);
  if (after === undefined || encodeCursor(list, after) !== cursor) throw invalidCursor();
  return after;
}

/** Leaves what is not a plain decimal as it is, for the validator to refuse. */
function plainNumber(value: unknown): unknown {
  return typeof value === 'string' && PLAIN_NUMBER.test(value) ? Number(value) : value;
}
