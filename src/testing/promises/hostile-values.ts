import type { Schema } from '../api-document';
import { jsonOf } from '../json';

const MANY = 10_000;
const LONG = 'x'.repeat(MANY);

/** Texts that break programs: of databases, of JavaScript objects, of terminals. */
const TEXTS: readonly string[] = [
  ' ',
  'a\u0000b',
  '\ud800',
  '\u0007',
  LONG,
  '__proto__',
  "'; DROP TABLE migrations; --",
  '2027-02-30',
];

/** JSON texts of every type, and numbers beyond what JavaScript and PostgreSQL hold. */
const VALUES: readonly string[] = [null, true, -1, 1.5, [], {}, '']
  .map(jsonOf)
  .concat('9223372036854775808', '-9223372036854775809', '1e400', '{"__proto__":{"name":"x"}}');

/** Whole bodies that are not the documented object. */
export const BODIES: readonly string[] = [null, [], true, 1, 'x', [{}]]
  .map(jsonOf)
  .concat('', '{"a":}', '\u0000', `${'['.repeat(100)}${']'.repeat(100)}`);

/** Parameters as they are written in a URL; some are not UTF-8. */
export const PARAMETERS: readonly string[] = TEXTS.filter((text) => text.isWellFormed() && text !== LONG)
  .map(encodeURIComponent)
  .concat('0', '1.5', '01', '9223372036854775808', 'true', '%', '%ED%A0%80', 'x'.repeat(300));

/** Lists JSON texts that every member gets. Only one that can be a text gets all hostile texts. */
export function hostileValues({ type = 'string' }: Schema): readonly string[] {
  return type === 'string' ? [...VALUES, ...TEXTS.map(jsonOf)] : VALUES;
}

/**
 * Lists JSON texts that break a bound of a member's schema, or have another type.
 *
 * @param item the example of an item, for a list
 */
export function invalidValues(schema: Schema, item: unknown): readonly string[] {
  const { type, minimum, maximum, minLength = 0, maxLength, maxItems, enum: choices, nullable } = schema;
  return [
    minimum === undefined ? [] : beyond(minimum, -1),
    maximum === undefined ? [] : beyond(maximum, 1),
    minLength === 0 ? [] : jsonOf('x'.repeat(minLength - 1)),
    maxLength === undefined || maxLength > MANY ? [] : jsonOf('x'.repeat(maxLength + 1)),
    choices === undefined ? [] : jsonOf(`not ${String(choices[0])}`),
    maxItems === undefined ? [] : jsonOf(Array.from({ length: maxItems + 1 }, () => item)),
    type === 'string' ? '7' : '"7"',
    type === 'integer' ? '1.5' : [],
    nullable === true ? [] : 'null',
  ].flat();
}

/** Lists JSON texts at the bounds of a member's schema, and other exact values that it allows. */
export function boundaryValues({ type, format, minimum, maximum, maxLength }: Schema): readonly string[] {
  const bounds = [minimum, maximum].filter((bound) => bound !== undefined).map(jsonOf);
  // 2^53 + 1, which JavaScript's numbers do not have.
  if (type === 'integer') return format === 'int64' ? ['9007199254740993', ...bounds] : bounds;
  if (type === 'number') return bounds;
  if (type !== 'string') return [];
  const longest = maxLength === undefined || maxLength > MANY ? [] : ['x'.repeat(maxLength)];
  return [' Žofie 🐈 "\\', ...longest].map(jsonOf);
}

function beyond(bound: number | bigint, step: -1 | 1): string {
  return jsonOf(typeof bound === 'bigint' ? bound + BigInt(step) : bound + step);
}
