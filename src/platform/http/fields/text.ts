import { declareField, type FieldFacts } from './field';

interface TextFacts extends FieldFacts {
  /** In code points, as lengths in an OpenAPI document are. */
  readonly max: number;
  /** 0 allows an empty text. Default 1. */
  readonly min?: number;
  /** Swagger UI sends the example of an optional parameter. */
  readonly example?: string;
}

/**
 * No control characters (Cc), and at least one character that is not white space. The pattern has no flags and no
 * look-around, so that every tool that reads the OpenAPI document can run it.
 */
const VISIBLE = String.raw`^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$`;
const POSSIBLY_EMPTY = String.raw`^[^\x00-\x1F\x7F-\x9F]*$`;

/**
 * Declares a text on one line that PostgreSQL can store: no control characters, no lone surrogates, and at least one
 * character that is not white space unless `min` is 0.
 */
export function Text({ max, min = 1, example, ...facts }: TextFacts): PropertyDecorator {
  const pattern = min > 0 ? VISIBLE : POSSIBLY_EMPTY;
  const acceptable = new RegExp(pattern, 'u');
  const content =
    min > 0
      ? ', at least one of them not white space, and no control characters'
      : ' without control characters';
  const { description } = facts;
  return declareField(facts, {
    schema: {
      type: 'string',
      minLength: min,
      maxLength: max,
      pattern,
      description,
      ...(example !== undefined && { example }),
    },
    name: 'isText',
    rule: `a string of ${min} to ${max} characters${content}`,
    isValid: (value) => isLong(value, min, max) && value.isWellFormed() && acceptable.test(value),
  });
}

/** True for a string whose number of code points is within the bounds. */
function isLong(value: unknown, min: number, max: number): value is string {
  // A code point is one or two UTF-16 units, so most lengths need no count.
  if (typeof value !== 'string' || value.length < min || value.length > 2 * max) return false;
  if (value.length <= max && value.length >= 2 * min) return true;
  const { length } = Array.from(value);
  return length >= min && length <= max;
}
