import { applyDecorators } from '@nestjs/common';
import { FromText } from '../from-text.decorator';
import { isInt64, MAX_INT64, MIN_INT64, parseInt64 } from '../int64';
import { IS_INT64 } from '../exact-integers';
import { declareField, type FieldFacts } from './field';

interface Int64Facts extends FieldFacts {
  /** A bigint if a number cannot hold it. Swagger UI sends the example of an optional parameter. */
  readonly example?: number | bigint;
}

/**
 * Declares an int64: an exact bigint in the handler, and exact digits in JSON. The document adds the bounds. In
 * a query it is a plain decimal.
 */
export function Int64({ example, ...facts }: Int64Facts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    FromText((text) => (typeof text === 'string' ? (parseInt64(text) ?? text) : text)),
    declareField(facts, {
      schema: { type: 'integer', format: 'int64', description, ...(example !== undefined && { example }) },
      name: IS_INT64,
      rule: `an integer from ${MIN_INT64} to ${MAX_INT64}`,
      isValid: isInt64,
    }),
  );
}
