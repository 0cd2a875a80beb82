import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';
import { isObject, type Place, valueAt } from '../api/fields/json';

export { isObject, valueAt };

/** Parses JSON; an integer that a number cannot hold is a bigint. Undefined for any other text, or a repeated name. */
export function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // If no digit is lost and no name is repeated, the fast parser is exact.
    if (JSON.stringify(value) === text) return value;
    return parse(text, undefined, (digits) =>
      isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits),
    );
  } catch {
    return undefined;
  }
}

/** Prints a value as JSON; a bigint is an integer. */
export function jsonOf(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Returns a body with another value at a place, or without it if the value is undefined. */
export function changedAt(body: unknown, [first, ...rest]: Place, value: unknown): unknown {
  if (first === undefined) return value;
  const inner = changedAt(valueAt(body, first), rest, value);
  if (Array.isArray(body)) return body.with(Number(first), inner);
  return isObject(body) ? { ...body, [first]: inner } : undefined;
}
