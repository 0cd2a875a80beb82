import { applyDecorators } from '@nestjs/common';
import { FromText } from '../from-text.decorator';
import { isInt64, MAX_INT64, MIN_INT64, parseInt64 } from '../int64';
import { IS_INT64 } from '../exact-integers';
import { declareField, type FieldFacts } from './field';

interface Int64ListFacts extends FieldFacts {
  /** The largest number of items; the smallest is 1. */
  readonly max: number;
  /** A bigint if a number cannot hold it. Swagger UI sends the example of an optional parameter. */
  readonly example?: readonly (number | bigint)[];
}

/** Declares a list of int64, as exact bigints. In a query it is a repeated parameter: `id=7&id=9`. */
export function Int64List({ max, example, ...facts }: Int64ListFacts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    FromText((texts) => [texts].flat().map(parsed)),
    declareField(facts, {
      schema: {
        type: 'array',
        items: { type: 'integer', format: 'int64' },
        minItems: 1,
        maxItems: max,
        description,
        ...(example && { example: [...example] }),
      },
      name: IS_INT64,
      rule: `1 to ${max} integers from ${MIN_INT64} to ${MAX_INT64}`,
      isValid: (value) =>
        Array.isArray(value) && value.length > 0 && value.length <= max && value.every(isInt64),
    }),
  );
}

function parsed(text: unknown): unknown {
  return typeof text === 'string' ? (parseInt64(text) ?? text) : text;
}
