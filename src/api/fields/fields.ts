import type { Type } from '@nestjs/common';
import { type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { isObject } from './json';
import { declareField, type FieldFacts } from './validation.pipe';
import { int64Schema, MAX_INT64, MIN_INT64, parseInt64 } from './int64';

interface TextFacts extends FieldFacts<string> {
  /** In code points, as lengths in an OpenAPI document are. */
  readonly max: number;
  /** 0 allows an empty text. Default 1. */
  readonly min?: number;
  /** True if it needs a letter or a digit. */
  readonly isWord?: true;
}

/**
 * No control characters (Cc), and at least one character that is not white space. The pattern has no flags and no
 * look-around, so that every tool that reads the OpenAPI document can run it.
 */
const VISIBLE = String.raw`^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$`;
const WORD = /[\p{L}\p{N}]/u;
const POSSIBLY_EMPTY = String.raw`^[^\x00-\x1F\x7F-\x9F]*$`;

/**
 * Declares a text on one line that PostgreSQL can store: no control characters, no lone surrogates, and at least one
 * character that is not white space unless `min` is 0.
 */
export function Text({ max, min = 1, isWord, ...facts }: TextFacts): PropertyDecorator {
  const pattern = min > 0 ? VISIBLE : POSSIBLY_EMPTY;
  // A length counts code points.
  const rules = [new RegExp(`^.{${min},${max}}$`, 'su'), new RegExp(pattern, 'u'), isWord ? WORD : /^/];
  const least = `, at least one of them ${isWord ? 'a letter or digit' : 'not white space'}, and no control characters`;
  const content = min > 0 ? least : ' without control characters';
  return declareField(facts, {
    schema: { type: 'string', minLength: min, maxLength: max, pattern },
    rule: `a string of ${min} to ${max} characters${content}`,
    isValid: (value) =>
      typeof value === 'string' && value.isWellFormed() && rules.every((each) => each.test(value)),
  });
}

/** The forms of a time in the document. */
const FORMS = {
  /** `2026-11-21T12:00:00.000Z`, as the service prints it. */
  printed: { format: 'date-time', minLength: 24, maxLength: 24 },
  /** With any offset and fraction of a second: only requests have it. */
  given: { format: 'date-time', minLength: 20, maxLength: 64 },
  /** `2026-11-21` (RFC 3339, full-date). */
  day: { format: 'date', minLength: 10, maxLength: 10 },
} as const;
/** PostgreSQL has no year 0. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z');
/** A time of RFC 3339, 5.6, at most 64 characters long: its date, hour and minute, second, milliseconds, and offset. */
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[t ]((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:(\.\d{1,3})\d{0,35})?(z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/**
 * Declares a time (RFC 3339), or a day. A request may have any offset and any fraction of a second. The value is a text: a
 * time as `toISOString` prints it, in UTC to the millisecond.
 */
export function Timestamp(
  given: FieldFacts<string>,
  form: keyof typeof FORMS = 'printed',
): PropertyDecorator {
  const isDay = form === 'day';
  const facts = form === 'printed' ? { example: '2026-11-21T12:00:00.000Z', ...given } : given;
  return declareField(facts, {
    schema: { type: 'string', ...FORMS[form] },
    rule: isDay ? 'a date such as 2026-11-21' : 'a time such as 2026-11-21T12:00:00Z (RFC 3339)',
    isValid: isDay ? isCalendarDate : isPrinted,
    fromText: printedTime,
    fromJson: printedTime,
  });
}

/** Prints a time in UTC to the millisecond. A leap second becomes the next second, as in POSIX. */
function printedTime(text: unknown): unknown {
  const [, day, clock, second, fraction = '', offset = ''] =
    (typeof text === 'string' && RFC_3339.exec(text)) || [];
  if (!isCalendarDate(day)) return text;
  const isLeap = second === '60';
  const time = Date.parse(`${day}T${clock}:${isLeap ? '59' : second}${fraction}${offset}`.toUpperCase());
  return new Date(isLeap ? time + 1_000 : time).toISOString();
}

/** True for a date that exists, from the year 1 on. */
export function isCalendarDate(text: unknown): boolean {
  return typeof text === 'string' && isPrinted(`${text}T00:00:00.000Z`);
}

/** True if `toISOString` prints this text. Another text may name a day that does not exist. */
function isPrinted(text: unknown): boolean {
  if (typeof text !== 'string' || text.length !== FORMS.printed.maxLength) return false;
  const time = Date.parse(text);
  return time >= FIRST_TIME && new Date(time).toISOString() === text;
}

/** A schema of the document that several fields share. */
export interface Choice<Value extends string = string> {
  /** The name of the schema in the document. */
  readonly name: string;
  readonly description: string;
  readonly values: readonly Value[];
  /** True if the start may add values to the schema. */
  readonly isOpen?: true;
}

function schemaOf({ name, description, values }: Choice): ApiPropertyOptions {
  return { enum: [...values], enumName: name, enumSchema: { description } };
}

/** Declares a text that is one of the values of `choice`. */
export function OneOf(choice: Choice, facts: FieldFacts<string>): PropertyDecorator {
  const { values } = choice;
  return declareField(facts, {
    schema: schemaOf(choice),
    rule: `one of ${values.join(', ')}`,
    isValid: (value) => values.some((known) => known === value),
  });
}

interface SomeFacts extends FieldFacts {
  /** The fewest values, by default 1. */
  readonly min?: 0 | 1;
  /** True if the document has a parameter with one value: generated clients send it as a text. Repeating it is valid. */
  readonly isShownAsOne?: true;
}

/**
 * Declares a list of different values of `choice`: in a query a repeated parameter. It has the order of the choice, as the
 * filters in a cursor.
 */
export function SomeOf(choice: Choice, { min = 1, isShownAsOne, ...facts }: SomeFacts): PropertyDecorator {
  const { name, values, isOpen } = choice;
  const items = isOpen ? { $ref: getSchemaPath(name) } : { type: 'string', enum: [...values] };
  const maxItems = isOpen ? 100 : values.length;
  const placeOf = (value: unknown) => values.findIndex((each) => each === value);
  const isNew = (each: unknown, at: number, all: unknown[]) => placeOf(each) >= 0 && all.indexOf(each) === at;
  return declareField(facts, {
    schema: isShownAsOne
      ? schemaOf(choice)
      : { type: 'array', items, minItems: min, maxItems, uniqueItems: true },
    rule: () => `one or more of ${values.join(', ')}, each once`,
    isValid: (given) => Array.isArray(given) && given.length >= min && given.every(isNew),
    fromText: (texts) => [texts].flat().toSorted((one, other) => placeOf(one) - placeOf(other)),
  });
}

/** Declares a boolean; `true` or `false` in a query. */
export function Flag(facts: FieldFacts<boolean>): PropertyDecorator {
  return declareField(facts, {
    schema: { type: 'boolean' },
    rule: 'true or false',
    isValid: (value) => typeof value === 'boolean',
    fromText: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  });
}

type NumberFacts = FieldFacts<number> & Readonly<Record<'min' | 'max', number>>;

const MAX_INT32 = 2 ** 31 - 1;
const DECIMAL_TEXT = /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;

/** Declares an integer that a number holds exactly. In a query it is a plain decimal: not `1e1`, not `01`. */
export function Integer({ min, max, ...facts }: NumberFacts): PropertyDecorator {
  const format = min >= -MAX_INT32 - 1 && max <= MAX_INT32 ? 'int32' : 'int64';
  return declareField(facts, {
    schema: { type: 'integer', format, minimum: min, maximum: max },
    rule: `a whole number from ${min} to ${max}`,
    isValid: (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    fromText: (text) => toNumber(int64FromText(text)),
  });
}

/** Declares a number (IEEE 754, double precision). For money take an Int64 of the smallest unit. */
export function Decimal({ min, max, ...facts }: NumberFacts): PropertyDecorator {
  return declareField(facts, {
    schema: { type: 'number', format: 'double', minimum: min, maximum: max },
    rule: `a number from ${min} to ${max}`,
    isValid: (value) => typeof value === 'number' && value >= min && value <= max,
    fromText: (text) => (typeof text === 'string' && DECIMAL_TEXT.test(text) ? Number(text) : text),
    fromJson: toNumber,
  });
}

function toNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

interface Int64Facts extends FieldFacts<number | bigint> {
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  /** The most values of a repeated parameter, `id=7&id=9`, whose member is a list of them. Default: it has one value. */
  readonly maxItems?: number;
}

/**
 * Declares an int64: an exact bigint in the handler, and exact digits in JSON. In a query it is a plain decimal. An example,
 * `min` or `max` is a bigint if a number cannot hold it.
 */
export function Int64(given: Int64Facts): PropertyDecorator {
  const { min = MIN_INT64, max = MAX_INT64, maxItems, ...facts } = given;
  const items = int64Schema(min, max);
  const isValid = (value: unknown) => typeof value === 'bigint' && value >= min && value <= max;
  if (maxItems === undefined)
    return declareField(facts, {
      schema: items,
      rule: `an integer from ${min} to ${max}`,
      isValid,
      fromText: int64FromText,
      fromJson: int64FromJson,
    });
  return declareField(facts, {
    schema: { type: 'array', items, minItems: 1, maxItems },
    rule: `1 to ${maxItems} integers from ${min} to ${max}, each in a parameter of its own`,
    isValid: (value) => isListOf(value, 1, maxItems, isValid),
    fromText: (texts) => [texts].flat().map(int64FromText),
  });
}

function isListOf(value: unknown, min: number, max: number, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length >= min && value.length <= max && value.every(isItem);
}

function int64FromText(text: unknown): unknown {
  return typeof text === 'string' ? (parseInt64(text) ?? text) : text;
}

/** The parser reads an integer as a number if that is exact, and as a bigint otherwise. */
function int64FromJson(value: unknown): unknown {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

/** Declares an object of another DTO class. @nestjs/swagger recognises a function by its name, `type`. */
export function Nested(type: () => Type, facts: FieldFacts<object>): PropertyDecorator {
  return declareField(facts, {
    schema: { type: () => type() },
    rule: 'a JSON object',
    isValid: isObject,
    classOf: type,
  });
}

interface ListFacts extends FieldFacts<readonly object[]> {
  /** The fewest objects, by default 0. */
  readonly min?: number;
  readonly max: number;
}

/** Declares a list of objects of another DTO class. */
export function ListOf(type: () => Type, { min = 0, max, ...facts }: ListFacts): PropertyDecorator {
  return declareField(facts, {
    schema: { type: () => type(), isArray: true, ...(min > 0 && { minItems: min }), maxItems: max },
    rule: `a list of ${min > 0 ? `${min} to` : 'at most'} ${max} JSON objects`,
    isValid: (value) => isListOf(value, min, max, isObject),
    classOf: type,
  });
}
