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
  body('nothing but a byte-order mark', '\uFEFF', BAD_JSON),
  body('UTF-16 with its mark', Buffer.from(`\uFEFF${PET}`, 'utf16le'), BAD_JSON),
  body('NUL', '\0', BAD_JSON),
  body('a form feed as white space', `\f${PET}`, BAD_JSON),
  nameBytes('a lone ff', 'ff'),
  nameBytes('an overlong NUL', 'c080'),
  nameBytes('a surrogate in UTF-8', 'eda080'),
  nameBytes('Latin-1', 'e96b'),
  named('with NUL', '\0', BAD_JSON),
  named('with a raw tab', '\t', BAD_JSON),
  named('with \\u0000', 'a\\u0000b', INVALID),
  named('with a high surrogate escaped', 'a\\ud800', INVALID),
  named('with a low surrogate escaped', '\\udc00a', INVALID),
  named('with a pair escaped', '\\ud83d\\ude00', '201'),
  named('with a noncharacter', 'a\uffff', '201'),
  named('with a bad escape', '\\x41', BAD_JSON),
  extra('a member __proto__', '"__proto__":{"name":"x","status":"sold"}', '201'),
  body('__proto__ with all members', `{"__proto__":${PET}}`, INVALID),
  extra('a name twice, with one value', '"name":"Rex"', '201'),
  extra('a name twice, escaped, with one value', '"\\u006eame":"R\\u0065x"', '201'),
  extra('a name twice, different', '"name":"Max"', BAD_JSON),
  extra('an escaped name twice, different', '"n\\u0061me":"Max"', BAD_JSON),
  extra('a number twice, with one value', '"categoryId":3.0', '201'),
  extra('a number twice, different', '"categoryId":4', BAD_JSON),
  // The API ignores these members, and their two values are equal after parsing.
  extra('an empty array for an empty object', '"x":[],"x":{}', '201'),
  extra('an object for one with __proto__', '"x":{},"x":{"__proto__":{}}', '201'),
  extra('numbers that round alike', '"x":9223372036854775808,"x":9223372036854775809', '201'),
  extra('numbers that overflow alike', '"x":1e400,"x":1e401', '201'),
  extra('numbers beyond 2^53 that round alike', '"x":9007199254740992,"x":9007199254740993', BAD_JSON),
  extra('a fraction in two spellings', '"x":0.50,"x":5e-1', '201'),
  extra('equal objects in another order', '"x":{"a":1,"b":[2]},"x":{"b":[2],"a":1}', '201'),
  extra('arrays in another order', '"x":[1,2],"x":[2,1]', BAD_JSON),
  extra('a contradiction deep inside', '"x":[{"y":{"a":1,"a":null}}]', BAD_JSON),
  extra('32 levels', `"x":${'['.repeat(31)}${']'.repeat(31)}`, '201'),
  extra('33 levels', `"x":${'['.repeat(32)}${']'.repeat(32)}`, BAD_JSON),
  extra('33 levels behind an escaped quote', `"x":["\\"",${'['.repeat(31)}${']'.repeat(31)}]`, BAD_JSON),
  extra('33 levels behind a backslash', `"x":["\\\\",${'['.repeat(31)}${']'.repeat(31)}]`, BAD_JSON),
  extra('brackets behind an escaped quote', `"x":"\\"${'[{'.repeat(100)}"`, '201'),
  body('60,000 brackets', '['.repeat(60_000), BAD_JSON),
  extra('2,000 values', values(1_997), '201'),
  extra('2,001 values', values(1_998), BAD_JSON),
  extra(
    '2,000 values in other lists',
    `"x":[ ],"y":[[1],{\n},{"a":{ }}],"z":[${'[],'.repeat(1_989)}[]]`,
    '201',
  ),
  extra(
    '2,001 values in other lists',
    `"x":[ ],"y":[[1],{\n},{"a":{ }}],"z":[${'[],'.repeat(1_990)}[]]`,
    BAD_JSON,
  ),
  extra('20,000 commas and brackets in a text', `"x":"${',[{'.repeat(20_000)}"`, '201'),
  extra('20,000 commas', ','.repeat(20_000), BAD_JSON),
  [
    '20,000 members, which are too large',
    post(`{${Array.from({ length: 20_000 }, (_, at) => `"${at}":1`).join()}}`),
    '413 payload_too_large',
    'open',
  ],
  extra('a member 1,998 times', Array<string>(1_998).fill('"x":1').join(), '201'),
  extra('a member 1,999 times', Array<string>(1_999).fill('"x":1').join(), BAD_JSON),
  extra('an unknown number of 50,000 digits', `"x":${'9'.repeat(50_000)}`, '201'),
  category('9'.repeat(50_000), INVALID),
  category(`0.${'0'.repeat(50_000)}1`, INVALID),
  category(`1${'0'.repeat(50_000)}e-50000`, '201'),
  category('1e999999999', INVALID),
  category('1e-999999999', INVALID),
  category('0x3', BAD_JSON),
  body('white space', ' \n', BAD_JSON),
  body('nothing', '', INVALID),
  body('a comment', `/**/${PET}`, BAD_JSON),
  body('two texts', PET + PET, BAD_JSON),
];

export const contentTypes: readonly Row[] = [
  type(' application/json', '201'),
  type('application/json', '201'),
  type(' application/json\t; charset=utf-8', '201'),
  type(' APPLICATION/JSON', '201'),
  type(' application/json;', '201'),
  type(' application/json;charset=latin1', '201'),
  type(' application/json, text/plain', BAD_TYPE),
  type(' application/json charset=utf-8', BAD_TYPE),
  type(' "application/json"', BAD_TYPE),
  type(' application/problem+json', BAD_TYPE),
  type('', BAD_TYPE),
  type(' ;;', BAD_TYPE),
  type(' application/json\xff', BAD_TYPE),
  type(` ${'a'.repeat(10_000)}/json`, BAD_TYPE),
  typed('', BAD_TYPE),
  typed(`${JSON_TYPE}${JSON_TYPE}`, BAD_TYPE),
  typed(`Content-Type: text/xml\r\n${JSON_TYPE}`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: identity\r\n`, '201'),
  typed(`${JSON_TYPE}Content-Encoding: Identity\r\n`, '201'),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\n`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: identity, gzip\r\n`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\nContent-Encoding: identity\r\n`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\n`, INVALID, ''),
  typed('Content-Type: text/xml\r\n', INVALID, ''),
  typed('', INVALID, ''),
];
