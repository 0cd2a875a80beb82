import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';

/** Prints a body as JSON, with a bigint as an integer. */
export const printJson = (value: unknown): string => stringify(value) ?? 'null';

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
