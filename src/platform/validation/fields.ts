import { applyDecorators, type Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { declareField, type FieldFacts, isObject } from './validation.pipe';
import { isInt64, MAX_INT64, MIN_INT64, parseInt64 } from './int64';

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
  const bounds = { minLength: min, maxLength: max, pattern, description: facts.description };
  const schema = { type: 'string', ...bounds, ...(example !== undefined && { example }) } as const;
  return declareField(facts, schema, {
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

interface TimestampFacts extends FieldFacts {
  /** In the form that `toISOString` prints. */
  readonly example: string;
}

/** Length of `2026-11-21T12:00:00.000Z`. */
const TIME_LENGTH = 24;
/** PostgreSQL has no year 0. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z');

/** Declares a time in UTC to the millisecond, as `toISOString` prints it (RFC 3339). The value is a text. */
export function Timestamp({ example, ...facts }: TimestampFacts): PropertyDecorator {
  const bounds = { minLength: TIME_LENGTH, maxLength: TIME_LENGTH, description: facts.description };
  return declareField(
    facts,
    { type: 'string', format: 'date-time', ...bounds, example },
    {
      name: 'isTimestamp',
      rule: `a time in UTC to the millisecond, such as ${example}`,
      isValid: (value) => typeof value === 'string' && value.length === TIME_LENGTH && isPrinted(value),
    },
  );
}

/** True if `toISOString` prints this text. Another text may name a day that does not exist. */
function isPrinted(text: string): boolean {
  const time = Date.parse(text);
  return time >= FIRST_TIME && new Date(time).toISOString() === text;
}

/** A schema of the document that several fields share. */
export interface Choice<Value extends string = string> {
  /** The name of the schema in the document. */
  readonly name: string;
  readonly description: string;
  readonly values: readonly Value[];
}

interface OneOfFacts extends FieldFacts {
  readonly example: string;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: string;
}

/** Declares a text that is one of the values of `choice`. */
export function OneOf(choice: Choice, { example, default: value, ...facts }: OneOfFacts): PropertyDecorator {
  const { name, description: meaning, values } = choice;
  const shared = { enum: [...values], enumName: name, enumSchema: { description: meaning } };
  const preset = value === undefined ? {} : { default: value };
  return declareField(
    facts,
    { ...shared, ...preset, description: facts.description, example },
    {
      name: 'isOneOf',
      rule: `one of ${values.join(', ')}`,
      isValid: (each) => values.some((known) => known === each),
    },
  );
}

interface FlagFacts extends FieldFacts {
  readonly example: boolean;
}

const FLAGS = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
]);

/** Declares a boolean; `true` or `false` in a query. */
export function Flag({ example, ...facts }: FlagFacts): PropertyDecorator {
  const schema = { type: 'boolean', description: facts.description, example } as const;
  return declareField(facts, schema, {
    name: 'isFlag',
    rule: 'true or false',
    isValid: (value) => typeof value === 'boolean',
    fromText: (text) => FLAGS.get(text) ?? text,
  });
}

interface NumberFacts extends FieldFacts {
  readonly min: number;
  readonly max: number;
  readonly example: number;
}

interface IntegerFacts extends NumberFacts {
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: number;
}

const MAX_INT32 = 2 ** 31 - 1;
const PLAIN_INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/;
const PLAIN_DECIMAL = /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;

/** Declares an integer that a number holds exactly. In a query it is a plain decimal: not `1e1`, not `01`. */
export function Integer({ min, max, example, default: value, ...facts }: IntegerFacts): PropertyDecorator {
  const format = min >= -MAX_INT32 - 1 && max <= MAX_INT32 ? 'int32' : 'int64';
  const preset = value === undefined ? {} : { default: value };
  const schema = { type: 'integer', format, minimum: min, maximum: max, ...preset } as const;
  return declareField(
    facts,
    { ...schema, description: facts.description, example },
    {
      name: 'isInteger',
      rule: `a whole number from ${min} to ${max}`,
      isValid: (each) => Number.isSafeInteger(each) && isWithin(each, min, max),
      fromText: (text) => toNumber(text, PLAIN_INTEGER),
    },
  );
}

/** Declares a number (IEEE 754, double precision). For money take an Int64 of the smallest unit. */
export function Decimal({ min, max, example, ...facts }: NumberFacts): PropertyDecorator {
  const schema = { type: 'number', format: 'double', minimum: min, maximum: max } as const;
  return declareField(
    facts,
    { ...schema, description: facts.description, example },
    {
      name: 'isDecimal',
      rule: `a number from ${min} to ${max}`,
      isValid: (each) => isWithin(each, min, max),
      fromText: (text) => toNumber(text, PLAIN_DECIMAL),
      fromJson: (each) => (typeof each === 'bigint' ? Number(each) : each),
    },
  );
}

function toNumber(text: unknown, form: RegExp): unknown {
  return typeof text === 'string' && form.test(text) ? Number(text) : text;
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

interface Int64Facts extends FieldFacts {
  /** A bigint if a number cannot hold it. Swagger UI sends the example of an optional parameter. */
  readonly example?: number | bigint;
}

const INT64 = { type: 'integer', format: 'int64' } as const;
const INT64_RANGE = `from ${MIN_INT64} to ${MAX_INT64}`;

/**
 * Declares an int64: an exact bigint in the handler, and exact digits in JSON. The document adds the bounds. In
 * a query it is a plain decimal.
 */
export function Int64({ example, ...facts }: Int64Facts): PropertyDecorator {
  const schema = { ...INT64, description: facts.description, ...(example !== undefined && { example }) };
  return declareField(facts, schema, {
    name: 'isInt64',
    rule: `an integer ${INT64_RANGE}`,
    isValid: isInt64,
    fromText: int64FromText,
    fromJson: int64FromJson,
  });
}

interface Int64ListFacts extends FieldFacts {
  /** The largest number of items; the smallest is 1. */
  readonly max: number;
  /** A bigint if a number cannot hold it. Swagger UI sends the example of an optional parameter. */
  readonly example?: readonly (number | bigint)[];
}

/** Declares a list of int64, as exact bigints. In a query it is a repeated parameter: `id=7&id=9`. */
export function Int64List({ max, example, ...facts }: Int64ListFacts): PropertyDecorator {
  const bounds = { minItems: 1, maxItems: max, description: facts.description };
  const schema = { type: 'array', items: { ...INT64 }, ...bounds } as const;
  return declareField(facts, example ? { ...schema, example: [...example] } : schema, {
    name: 'isInt64List',
    rule: `1 to ${max} integers ${INT64_RANGE}`,
    isValid: (value) =>
      Array.isArray(value) && value.length > 0 && value.length <= max && value.every(isInt64),
    fromText: (texts) => [texts].flat().map(int64FromText),
    fromJson: (value) => (Array.isArray(value) ? value.map(int64FromJson) : value),
  });
}

function int64FromText(text: unknown): unknown {
  return typeof text === 'string' ? (parseInt64(text) ?? text) : text;
}

/** The parser reads an integer as a number if that is exact, and as a bigint otherwise. */
function int64FromJson(value: unknown): unknown {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

/** Declares an object of another DTO class. */
export function Nested(type: () => Type, facts: FieldFacts): PropertyDecorator {
  return applyDecorators(
    ClassOf(type),
    ValidateNested(),
    declareField(
      facts,
      // @nestjs/swagger recognises a function by its name, `type`.
      { type: () => type(), description: facts.description },
      // `@ValidateNested()` accepts an array and validates its items.
      { name: 'isOneObject', rule: 'a JSON object', isValid: isObject },
    ),
  );
}

interface ListFacts extends FieldFacts {
  /** The largest number of items. */
  readonly max: number;
}

/** Declares a list of objects of another DTO class. */
export function ListOf(type: () => Type, { max, ...facts }: ListFacts): PropertyDecorator {
  return applyDecorators(
    ClassOf(type),
    ValidateNested({ each: true }),
    declareField(
      facts,
      { type: () => type(), isArray: true, maxItems: max, description: facts.description },
      {
        name: 'isListOfObjects',
        rule: `a list of at most ${max} JSON objects`,
        isValid: (value) => Array.isArray(value) && value.length <= max && value.every(isObject),
      },
    ),
  );
}
