import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { ApiError } from '../errors/api-error';
import { commonErrors } from '../errors/common.errors';
import { parseInt64 } from './int64';

/** Deepest nesting of arrays and objects. */
const MAX_DEPTH = 32;

/** Most members and items in a body, which bounds the work of everything after it. A batch of 100 animals has 401. */
const MAX_VALUES = 2_000;

/**
 * Parses a body as JSON (RFC 8259). An int64 that a number cannot hold exactly becomes a bigint. A fraction that a
 * number would round to an integer becomes NaN. Any other number becomes a number. RFC 8259, section 4, leaves repeated
 * names to the receiver: two members of one name are rejected if their parsed values differ.
 *
 * @throws ApiError `malformed_json`
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformedJson('it is not valid UTF-8');
  const text = bytes.toString();
  const value = parseText(text);
  // The parser keeps one of equal members of one name, but each is a value.
  if (countValues(value) > MAX_VALUES || countCommas(text) >= MAX_VALUES)
    throw malformedJson(`it has more than ${MAX_VALUES} values`);
  return value;
}

function parseText(text: string): unknown {
  try {
    return parse(text, undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The words of the parser are not for clients. Thousands of levels exceed the stack, without a position.
    const [, character] = /at position (\d+)/.exec(String(error)) ?? [];
    const place = character === undefined ? '' : ` (at character ${character})`;
    throw malformedJson(`it cannot be parsed${place}`);
  }
}

/** @param digits a number of JSON */
function parseNumber(digits: string): bigint | number {
  const value = Number(digits);
  if (!Number.isSafeInteger(value)) return integralValue(digits) ?? value;
  return String(value) === digits || integralValue(digits) !== undefined ? value : Number.NaN;
}

const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** The digits of the longest int64. Longer texts need no arithmetic. */
const MAX_DIGITS = 19;

/**
 * Returns the exact value of a JSON number if it is an int64; `1.0` and `1e3` are. It compares digits and exponent
 * without expanding them, so `1e999999999` costs nothing.
 *
 * @returns undefined for a fraction or a number out of range
 */
function integralValue(number: string): bigint | undefined {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(number) ?? [];
  if (match === undefined) return undefined;
  const digits = `${whole}${fraction}`;
  let end = digits.length;
  // A loop, because `/0+$/` takes quadratic time on zeros before a digit.
  while (digits[end - 1] === '0') end -= 1;
  const significant = digits.slice(0, end).replace(/^0+/, '');
  if (significant === '') return 0n;
  const scale = Number(exponent) + whole.length - end;
  if (scale < 0 || significant.length + scale > MAX_DIGITS) return undefined;
  return parseInt64(`${sign}${significant}${'0'.repeat(scale)}`);
}

/** The parser calls this only if the two values differ, and NaN differs from itself. */
function onDuplicateKey({ key, oldValue, newValue }: DuplicateKeyInfo): unknown {
  if (Object.is(oldValue, newValue)) return newValue;
  throw malformedJson(`the member ${JSON.stringify(key)} occurs twice in one object, with different values`);
}

/** Counts the members and items of a value. @throws ApiError if it is nested too deeply */
function countValues(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth === MAX_DEPTH) throw malformedJson(`it is nested deeper than ${MAX_DEPTH} levels`);
  const values: unknown[] = Object.values(value);
  return values.reduce<number>((count, each) => count + countValues(each, depth + 1), values.length);
}

/** Counts the commas outside strings, for a text that may have too many. */
function countCommas(text: string): number {
  return text.length > MAX_VALUES ? text.replaceAll(/"(?:[^"\\]|\\[^])*"?|[^,"]+/g, '').length : 0;
}

function malformedJson(reason: string): ApiError {
  const mistake = `The body is not acceptable JSON: ${reason}`;
  return commonErrors.malformed_json({ message: `${mistake}.`, mistakes: [mistake] });
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The place of a value within JSON: names of members and indexes of items. */
export type Place = readonly (string | number)[];

/** Returns the value at a place; undefined if the JSON has no such place. */
export function valueAt(json: unknown, ...place: Place): unknown {
  return place.reduce<unknown>((outer, step) => {
    if (typeof outer !== 'object' || outer === null) return undefined;
    return Object.getOwnPropertyDescriptor(outer, step)?.value;
  }, json);
}
