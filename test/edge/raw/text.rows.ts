import { JSON_TYPE, PET, post, type Row } from '../support/raw-rows';

const BAD_JSON = '400 malformed_json';
const INVALID = '400 validation_failed';
const BAD_TYPE = '415 unsupported_media_type';

const body = (title: string, bytes: string | Buffer, response: string): Row => [
  title,
  post(bytes),
  response,
  'open',
];
/** The JSON of a name, between its quotes. */
const named = (title: string, name: string, response: string): Row =>
  body(`a name ${title}`, `{"name":"${name}","categoryId":3}`, response);
const nameBytes = (title: string, hex: string): Row =>
  body(
    `a name of ${title}`,
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from(hex, 'hex'), Buffer.from('","categoryId":3}')]),
    BAD_JSON,
  );
/** An animal with one more member. */
const extra = (title: string, member: string, response: string): Row =>
  body(title, `{"name":"Rex","categoryId":3,${member}}`, response);
/** A member with a list of so many numbers. */
const values = (count: number): string => `"x":[${Array(count).fill(1).join()}]`;
const category = (number: string, response: string): Row =>
  body(`categoryId ${number.slice(0, 30)}`, `{"name":"Rex","categoryId":${number}}`, response);
const typed = (headers: string, response: string, bytes = PET): Row => [
  JSON.stringify(headers.slice(0, 70)),
  post(bytes, headers),
  response,
  // If the headers reject a body, the service does not read it.
  'open',
];
const type = (value: string, response: string): Row => typed(`Content-Type:${value}\r\n`, response);

export const texts: readonly Row[] = [
  body('an animal', PET, '201'),
  body('the largest body', PET.padEnd(65_536), '201'),
  ['one byte more', post(PET.padEnd(65_537)), '413 payload_too_large', 'open'],
  body('white space around', ` \t\r\n${PET}\n`, '201'),
  body('a byte-order mark', `\uFEFF${PET}`, BAD_JSON),
  body('UTF-16 with its mark', Buffer.from(`\uFEFF${PET}`, 'utf16le'), BAD_JSON),
  body('NUL', '\0', BAD_JSON),
  nameBytes('a lone ff', 'ff'),
  nameBytes('a surrogate in UTF-8', 'eda080'),
  named('with NUL', '\0', BAD_JSON),
  named('with a raw tab', '\t', BAD_JSON),
  named('with \\u0000', 'a\\u0000b', INVALID),
  named('with a high surrogate escaped', 'a\\ud800', INVALID),
  named('with a pair escaped', '\\ud83d\\ude00', '201'),
  named('with a bad escape', '\\x41', BAD_JSON),
  extra('a member __proto__', '"__proto__":{"name":"x","status":"sold"}', '201'),
  body('__proto__ with all members', `{"__proto__":${PET}}`, INVALID),
  extra('a name twice, with one value', '"name":"Rex"', '201'),
  extra('a name twice, different', '"name":"Max"', BAD_JSON),
  extra('a number twice, different', '"categoryId":4', BAD_JSON),
  // The API ignores these members, and their two values are equal after parsing.
  extra('an empty array for an empty object', '"x":[],"x":{}', '201'),
  extra('an object for one with __proto__', '"x":{},"x":{"__proto__":{}}', '201'),
  extra('numbers that round alike', '"x":9223372036854775808,"x":9223372036854775809', '201'),
  extra('numbers beyond 2^53 that round alike', '"x":9007199254740992,"x":9007199254740993', BAD_JSON),
  extra('equal objects in another order', '"x":{"a":1,"b":[2]},"x":{"b":[2],"a":1}', '201'),
  extra('a contradiction deep inside', '"x":[{"y":{"a":1,"a":null}}]', BAD_JSON),
  extra('32 levels', `"x":${'['.repeat(31)}${']'.repeat(31)}`, '201'),
  extra('33 levels', `"x":${'['.repeat(32)}${']'.repeat(32)}`, BAD_JSON),
  extra('33 levels behind an escaped quote', `"x":["\\"",${'['.repeat(31)}${']'.repeat(31)}]`, BAD_JSON),
  extra('brackets behind an escaped quote', `"x":"\\"${'[{'.repeat(100)}"`, '201'),
  body('60,000 brackets', '['.repeat(60_000), BAD_JSON),
  extra('2,000 values', values(1_997), '201'),
  extra('2,001 values', values(1_998), BAD_JSON),
  extra(
    '2,001 values in other lists',
    `"x":[ ],"y":[[1],{\n},{"a":{ }}],"z":[${'[],'.repeat(1_990)}[]]`,
    BAD_JSON,
  ),
  extra('20,000 commas and brackets in a text', `"x":"${',[{'.repeat(20_000)}"`, '201'),
  [
    '20,000 members, which are too large',
    post(`{${Array.from({ length: 20_000 }, (_, at) => `"${at}":1`).join()}}`),
    '413 payload_too_large',
    'open',
  ],
  extra('an unknown number of 50,000 digits', `"x":${'9'.repeat(50_000)}`, '201'),
  category('9'.repeat(50_000), INVALID),
  category(`1${'0'.repeat(50_000)}e-50000`, '201'),
  category('1e999999999', INVALID),
  category('0x3', BAD_JSON),
  body('nothing', '', INVALID),
  body('a comment', `/**/${PET}`, BAD_JSON),
];

export const contentTypes: readonly Row[] = [
  type(' application/json', '201'),
  type(' APPLICATION/JSON\t; charset=utf-8', '201'),
  type(' application/json, text/plain', BAD_TYPE),
  type(' application/problem+json', BAD_TYPE),
  type('', BAD_TYPE),
  type(' application/json\xff', BAD_TYPE),
  typed('', BAD_TYPE),
  typed(`${JSON_TYPE}${JSON_TYPE}`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: identity\r\n`, '201'),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\n`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\n`, INVALID, ''),
  typed('Content-Type: text/xml\r\n', INVALID, ''),
];
