import { declareField, type FieldFacts } from './field';

interface TimestampFacts extends FieldFacts {
  /** In the form that `toISOString` prints. */
  readonly example: string;
}

/** Length of `2026-11-21T12:00:00.000Z`. */
const LENGTH = 24;
/** PostgreSQL has no year 0. */
const FIRST = Date.parse('0001-01-01T00:00:00.000Z');

/** Declares a time in UTC to the millisecond, as `toISOString` prints it (RFC 3339). The value is a text. */
export function Timestamp({ example, ...facts }: TimestampFacts): PropertyDecorator {
  const { description } = facts;
  return declareField(facts, {
    schema: {
      type: 'string',
      format: 'date-time',
      minLength: LENGTH,
      maxLength: LENGTH,
      description,
      example,
    },
    name: 'isTimestamp',
    rule: `a time in UTC to the millisecond, such as ${example}`,
    isValid: (value) => typeof value === 'string' && value.length === LENGTH && isPrinted(value),
  });
}

/** True if `toISOString` prints this text. Another text may name a day that does not exist. */
function isPrinted(text: string): boolean {
  const time = Date.parse(text);
  return time >= FIRST && new Date(time).toISOString() === text;
}
