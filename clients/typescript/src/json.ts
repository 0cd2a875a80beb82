import { parse, parseNumberAndBigInt, stringify as losslessStringify } from 'lossless-json';

/** The type of `toJSON(value)`: each bigint is a string. */
export type Json<T> = T extends bigint ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

/** Copies a value for code that calls `JSON.stringify`, which rejects a bigint: each bigint becomes a decimal string. */
export function toJSON<T>(value: T): Json<T> {
  const text = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? String(member) : member,
  );
  return JSON.parse(text);
}

/** Writes a value as JSON, like `JSON.stringify`. A bigint becomes an integer with all its digits. */
export function stringify(value: unknown, space?: string | number): string {
  return losslessStringify(value, undefined, space) ?? 'null';
}

/**
 * Parses a body. The integers of the named members are bigint, exact over the whole range; other numbers are number.
 *
 * @throws SyntaxError if the text is not JSON
 */
export function parseJson(text: string, int64Members: ReadonlySet<string>): unknown {
  return convert(parse(text, undefined, parseNumberAndBigInt), false, int64Members);
}

/** Converts each bigint that is not an int64 to a number. */
function convert(value: unknown, isInt64: boolean, int64Members: ReadonlySet<string>): unknown {
  if (typeof value === 'bigint') return isInt64 ? value : Number(value);
  if (Array.isArray(value)) return value.map((item) => convert(item, isInt64, int64Members));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      convert(member, int64Members.has(name), int64Members),
    ]),
  );
}
