import { jsonOf, type JsonText } from './json-body';
import type { Schema } from './schema';

const MANY = 10_000;

/** Texts that break programs: of databases, of JavaScript objects, of terminals. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  'a\u0000b',
  '\ud800',
  '\u0007',
  '\u202e',
  '🐕',
  'x'.repeat(MANY),
  '__proto__',
  'constructor',
  '-1',
  'NaN',
  'null',
  "' OR 1=1 --",
  "'; DROP TABLE migrations; --",
  '%s%n%00',
  '2026-13-45T99:99:99Z',
  '2027-02-30',
  '2027-02-30T00:00:00.000Z',
];

/** JSON values of every type, and numbers beyond what JavaScript and PostgreSQL hold. */
const JSON_VALUES: readonly JsonText[] = [
  ...[null, true, 0, -1, 1.5, [], {}, [[[]]], [null], { a: { b: [1] } }, ...TEXTS].map(asJson),
  // The exact values: the nearest numbers of JavaScript could be within the bounds of an int64.
  { text: '9223372036854775808', value: 2 ** 64 },
  { text: '-9223372036854775809', value: -(2 ** 64) },
  { text: '1e400', value: Infinity },
  { text: '{"__proto__":{"name":"x"}}', value: {} },
];

/** Whole bodies that are not the documented object. */
export const BODIES: readonly string[] = [
  '',
  'null',
  'true',
  '1',
  '"x"',
  '[]',
  '[{}]',
  '{',
  '{"a":}',
  '\u0000',
  '{"__proto__":{"name":"x"}}',
  `${'['.repeat(100)}${']'.repeat(100)}`,
];

/** Parameters as they are written in a URL; some are not UTF-8. */
export const PARAMETERS: readonly string[] = [
  '0',
  '-1',
  '1.5',
  '1e1',
  '01',
  '+1',
  '9223372036854775808',
  '-9223372036854775809',
  'true',
  '[]',
  '%00',
  '%01',
  '%',
  '%FF',
  '%ED%A0%80',
  'x'.repeat(300),
  ...TEXTS.filter((text) => text.trim() !== '' && text.isWellFormed()).map(encodeURIComponent),
];

/**
 * Lists hostile values for a member: those for every member, and those that break a bound of its schema.
 *
 * @param item the example of an item, for a list
 */
export function hostileValues(schema: Schema, item: unknown): readonly JsonText[] {
  const { minimum, maximum, minLength = 0, maxLength, maxItems, enum: choices } = schema;
  const beyond = [
    minimum === undefined ? [] : minimum - 1,
    maximum === undefined ? [] : maximum + 1,
    minLength === 0 ? [] : 'x'.repeat(minLength - 1),
    maxLength === undefined || maxLength > MANY ? [] : 'x'.repeat(maxLength + 1),
    choices === undefined ? [] : `not ${String(choices[0])}`,
  ].flat();
  const tooMany = maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => item)];
  return [...JSON_VALUES, ...[...beyond, ...tooMany].map(asJson)];
}

function asJson(value: unknown): JsonText {
  return { text: jsonOf(value), value };
}

/** Ids that no resource has. */
export const UNKNOWN_IDS: readonly string[] = ['9223372036854775807', '-9223372036854775808'];
