import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';
import { isObject, type Place, valueAt } from '../platform/validation/declare-field';

export { isObject, type Place, valueAt };

const MARK = '@@value@@';

/** Parses JSON; an integer that a number cannot hold is a bigint. @throws SyntaxError also for a repeated name */
export function parseExactly(text: string): unknown {
  return parse(text, undefined, (digits) =>
    isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits),
  );
}

/** Parses JSON; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/** Prints a value as JSON; a bigint is an integer. */
export function jsonOf(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Prints a value for a person or a comparison: a text as it is, any other value as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value);
}

/**
 * Returns the text of a body with another JSON text at a place, or without the place if the text is undefined.
 *
 * @returns undefined if the body has no such place
 */
export function replaceAt(body: unknown, place: Place, text: string | undefined): string | undefined {
  const marked = changedAt(body, place, text === undefined ? undefined : MARK);
  return marked === undefined ? undefined : jsonOf(marked).replace(jsonOf(MARK), () => text ?? '');
}

/** Returns a body with another value at a place, or without it if the value is undefined. */
export function changedAt(body: unknown, [first, ...rest]: Place, value: unknown): unknown {
  if (first === undefined) return value;
  if (Array.isArray(body)) {
    const items: readonly unknown[] = body;
    return items.map((item, at) => (at === first ? changedAt(item, rest, value) : item));
  }
  if (!isObject(body)) return undefined;
  const inner = changedAt(body[first], rest, value);
  return inner === undefined && rest.length > 0 ? undefined : { ...body, [first]: inner };
}
