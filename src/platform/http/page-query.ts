import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { Integer } from './fields/integer';
import { type Choice, OneOf } from './fields/one-of';
import { IsOmittable } from './omittable.decorator';

/** The maximum number of items of a page. */
export const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;
/** Longer than any cursor that a list returns. */
const MAX_CURSOR_LENGTH = 256;

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
    return this.sort === 'id' ? {} : { sort: this.sort };
  }
}
