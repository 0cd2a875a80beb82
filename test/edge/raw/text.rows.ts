import { JSON_TYPE, PET, post, type Row } from '../support/raw-rows';

const BAD_JSON = '400 malformed_json';
const INVALID = '400 validation_failed';
const BAD_TYPE = '415 unsupported_media_type';

const body = (title: string, text: string, response: string): Row => [title, post(text), response, 'open'];
/** The JSON of a name, between its quotes. */
const named = (name: string, response: string): Row =>
  body(`a name ${name}`, `{"name":"${name}","categoryId":3}`, response);
/** An animal with one more member. */
const extra = (title: string, member: string, response: string): Row =>
  body(title, `{"name":"Rex","categoryId":3,${member}}`, response);
/** A member with a list of so many numbers. */
const values = (count: number): string => `"x":[${Array(count).fill(1).join()}]`;
const category = (number: string, response: string): Row =>
  body(`categoryId ${number.slice(0, 30)}`, `{"name":"Rex","categoryId":${number}}`, response);
/** If the headers reject a body, the service does not read it. */
const typed = (headers: string, response: string, bytes = PET): Row => [
  JSON.stringify(headers),
  post(bytes, headers),
  response,
  'open',
];

// More bodies are in test/errors/operations.spec.ts.
export const texts: readonly Row[] = [
  body('the largest body', PET.padEnd(65_536), '201'),
  body('one byte more', PET.padEnd(65_537), '413 payload_too_large'),
  body('a byte-order mark', `\uFEFF${PET}`, BAD_JSON),
  named('a\\u0000b', INVALID),
  named('a\\ud800', INVALID),
  extra('a member __proto__', '"__proto__":{"name":"x","status":"sold"}', '201'),
  body('__proto__ with all members', `{"__proto__":${PET}}`, INVALID),
  extra('a name twice, with one value', '"name":"Rex"', '201'),
  extra('numbers beyond 2^53 that round alike', '"x":9007199254740992,"x":9007199254740993', BAD_JSON),
  extra('a contradiction deep inside', '"x":[{"y":{"a":1,"a":null}}]', BAD_JSON),
  extra('32 levels', `"x":${'['.repeat(31)}${']'.repeat(31)}`, '201'),
  extra('33 levels', `"x":${'['.repeat(32)}${']'.repeat(32)}`, BAD_JSON),
  extra('33 levels behind an escaped quote', `"x":["\\"",${'['.repeat(31)}${']'.repeat(31)}]`, BAD_JSON),
  extra('brackets behind an escaped quote', `"x":"\\"${'[{'.repeat(100)}"`, '201'),
  extra('2,000 values, one of them an empty object', `"y":{},${values(1_996)}`, '201'),
  extra('2,001 values', values(1_998), BAD_JSON),
  extra('2,000 values, most of them of one name', Array(1_998).fill('"categoryId":3').join(), '201'),
  extra('2,001 values, most of them of one name', Array(1_999).fill('"categoryId":3').join(), BAD_JSON),
  extra('commas in a text', `"x":"${','.repeat(3_000)}\\""`, '201'),
  extra(
    '2,001 values in other lists',
    `"x":[ ],"y":[[1],{\n},{"a":{ }}],"z":[${'[],'.repeat(1_990)}[]]`,
    BAD_JSON,
  ),
  extra('an unknown number of 50,000 digits', `"x":${'9'.repeat(50_000)}`, '201'),
  category('9'.repeat(50_000), INVALID),
  category(`1${'0'.repeat(50_000)}e-50000`, '201'),
  category('1e999999999', INVALID),
];

export const contentTypes: readonly Row[] = [
  typed('Content-Type: APPLICATION/JSON\t; charset=utf-8\r\n', '201'),
  typed('Content-Type: application/json, text/plain\r\n', BAD_TYPE),
  typed('', BAD_TYPE),
  typed(`${JSON_TYPE}${JSON_TYPE}`, BAD_TYPE),
  typed(`${JSON_TYPE}Content-Encoding: identity\r\n`, '201'),
  typed(`${JSON_TYPE}Content-Encoding: gzip\r\n`, INVALID, ''),
];
