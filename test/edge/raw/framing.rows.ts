import { METHODS } from 'node:http';
import { AUTH, chunk, chunked, get, HOST, JSON_TYPE, ORIGIN, PET, post, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';
const UNKNOWN = '404 route_not_found';
const NO_PET = '404 pet_not_found';
const NO_METHOD = '405 method_not_allowed';
const LATE = '408 request_timeout';
const TOO_LARGE = '413 payload_too_large';
const BAD_TYPE = '415 unsupported_media_type';
const NO_BODY = '400 validation_failed';
const NO_KEY = '401 missing_api_key';
const POST = 'POST /v1/pets HTTP/1.1\r\n';
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const XML = 'Content-Type: text/xml\r\n';
const CHUNKS = 'Transfer-Encoding: chunked\r\n';

/** A request with this first line and the key. */
const line = (text: string): string => `${text}\r\n${AUTH}\r\n`;

export const requestLines: readonly Row[] = [
  ['HTTP/1.0 without Host', 'GET /livez HTTP/1.0\r\n\r\n', '200', 'closed'],
  ['HTTP/2.0 by name', line('GET /v1/pets HTTP/2.0'), BROKEN, 'closed'],
  ['a target of an escape sequence', line('GET /\u001b[31m HTTP/1.1'), BROKEN, 'closed'],
  ['lines that end in LF only', get().replaceAll('\r', ''), BROKEN, 'closed'],
  [
    'CONNECT, then bytes for the tunnel',
    `${line('CONNECT x:1 HTTP/1.1')}\x16\x03\x01${get()}`,
    NO_METHOD,
    'closed',
  ],
  ...METHODS.filter((method) => !['CONNECT', 'GET', 'HEAD', 'POST'].includes(method)).map((method): Row => [
    `the method ${method}, which the list lacks`,
    line(`${method} /v1/pets HTTP/1.1`),
    NO_METHOD,
    'open',
  ]),
];

// More targets are in test/edge/order-of-checks.spec.ts.
export const targets: readonly Row[] = (
  [
    ['http://x/v1/pets', '200'],
    ['http://x', '200'],
    ['/v1/pets#x', '200'],
    ['/v1/%70ets', '200'],
    ['/v1/pets%2f1', UNKNOWN],
    ['/docs/..%2f..%2fetc%2fpasswd', UNKNOWN],
    [`/v1/pets/${'9'.repeat(8_000)}`, NO_PET],
    [`/v1/pets/${'9'.repeat(9_000)}`, '414 uri_too_long'],
    ['/%', BROKEN],
  ] as const
).map(([target, response]) => [`the target ${target.slice(0, 40)}`, get(target), response, 'open']);

/** listPets with the key and these header lines. */
const withLines = (lines: string, response = '200', connection: Row[3] = 'open'): Row => [
  `the header ${JSON.stringify(lines.slice(0, 50))}`,
  get('/v1/pets', `${lines}\r\n`),
  response,
  connection,
];
const hosts = (response: string, connection: Row[3], values: readonly string[]): Row[] =>
  values.map((value) => [
    `Host ${JSON.stringify(value)}`,
    Buffer.from(`GET /livez HTTP/1.1\r\nHost: ${value}\r\n\r\n`, 'latin1'),
    response,
    connection,
  ]);

export const headers: readonly Row[] = [
  withLines('If-None-Match: "\xe9", W/, ,"'),
  withLines('X: a\r\n b', BROKEN, 'closed'),
  withLines('Authorization: Bearer x', '401 invalid_api_key'),
  withLines('host: y', BROKEN, 'closed'),
  ...hosts('200', 'open', ['', 'localhost', 'a_b.example:8080', '[::1]:3000', 'x:', 'x%20y']),
  ...hosts(BROKEN, 'closed', ['a b', 'http://x', '[x]', 'a?b', '%zz', '[::1', '\xe9.example']),
  withLines('Expect: 100-continue', '200', 'closed'),
  ['an unknown Expect in HTTP/1.0', `GET /v1/pets HTTP/1.0\r\n${AUTH}Expect: x\r\n\r\n`, '200', 'closed'],
  withLines(Array(198).fill('a: b').join('\r\n')),
  withLines(Array(199).fill('a: b').join('\r\n'), '431 headers_too_large', 'closed'),
];

/** createPet with these framing headers, and bytes that a wrong reader would take for a second request. */
const framed = (lines: string, rest = '0\r\n\r\n'): string =>
  `${POST}${AUTH}${JSON_TYPE}${lines}\r\n${rest}${get()}`;
const smuggled = (lines: string, rest?: string): Row => [
  lines.trim().replaceAll('\r\n', ' and '),
  framed(lines, rest),
  BROKEN,
  'closed',
];
const withBytes = (title: string, method: string, body: string, response: string): Row => [
  title,
  `${method} HTTP/1.1\r\n${AUTH}${JSON_TYPE}Content-Length: ${body.length}\r\n\r\n${body}`,
  response,
  'open',
];
const expecting = (auth: string, length: number, rest: string, ...outcome: [Row[2], Row[3]]): Row => [
  `Expect: 100-continue with ${length} bytes`,
  `${POST}${auth}${JSON_TYPE}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n${rest}`,
  ...outcome,
];

export const framing: readonly Row[] = [
  smuggled(`Content-Length: 5\r\n${CHUNKS}`),
  smuggled('Transfer-Encoding: gzip, chunked\r\n'),
  smuggled('Transfer-Encoding:\r\n'),
  smuggled(`${CHUNKS}${CHUNKS}`),
  smuggled('Transfer-Encoding : chunked\r\n'),
  smuggled('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  smuggled('Content-Length: +2\r\n', '{}'),
  ['chunked in HTTP/1.0', framed(CHUNKS).replace('HTTP/1.1', 'HTTP/1.0'), BROKEN, 'closed'],
  ['Chunked', framed('Transfer-Encoding: Chunked\r\n'), [NO_BODY, '200'], 'open'],
  ['a trailer', chunked(`${chunk(PET)}0\r\nX-Checksum: 1\r\n\r\n`), '201', 'open'],
  ['no chunk of XML but the last', chunked('0\r\n\r\n', XML), NO_BODY, 'open'],
  ['chunks in XML', chunked(`${chunk('<pet/>')}0\r\n\r\n`, XML), BAD_TYPE, 'open'],
  ['a chunk size of letters', chunked(`zz\r\n{}\r\n0\r\n\r\n${get()}`), BROKEN, 'closed'],
  ['a chunk longer than its size', chunked(`1\r\n{}\r\n0\r\n\r\n${get()}`), BROKEN, 'closed'],
  withBytes('a GET whose body is a request', 'GET /v1/pets', `${POST}${HOST}\r\n`, '200'),
  withBytes('a DELETE of an animal with a body in text', 'DELETE /v1/pets/0', 'hello', NO_PET),
  ['a GET with a broken chunked body', `${get('/v1/pets', CHUNKS)}zz\r\n${get()}`, '200', 'closed'],
  ['a body without a key', post(PET).toString().replace('Bearer ', ''), NO_KEY, 'open'],
  ['a broken body without a key', `${POST}${HOST}${CHUNKS}\r\nzz\r\n${get()}`, NO_KEY, 'closed'],
  expecting(AUTH, PET.length, PET, ['100', '201'], 'open'),
  expecting(AUTH, 500_000, '', TOO_LARGE, 'closed'),
  [
    'Expect: 100-continue in HTTP/1.0',
    post(PET, `${JSON_TYPE}Expect: 100-continue\r\n`).toString().replace('1.1', '1.0'),
    '201',
    'closed',
  ],
  expecting(HOST, 50, '', NO_KEY, 'closed'),
];

const bytes = (...parts: (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));
const THEN_BROKEN = ['200', BROKEN];
const CLOSING = get('/v1/pets', 'Connection: close\r\n');

/** A preflight with these headers, and a request after it. */
const preflight = (title: string, lines: string, response: string): Row => [
  `a preflight with ${title}, then a request`,
  `OPTIONS /v1/pets HTTP/1.1\r\nOrigin: ${ORIGIN}\r\nAccess-Control-Request-Method: POST\r\n${HOST}${lines}\r\n${get()}`,
  response,
  'closed',
];

/** Pipelined requests: responses have the order of the requests, and end with the first framing error. */
export const pipelines: readonly Row[] = [
  ['two requests', bytes(get(), get('/v1/pets/9999999')), ['200', NO_PET], 'open'],
  ['garbage, then a write', bytes('broken\r\n\r\n', post(PET)), BROKEN, 'closed'],
  ['a read, two Hosts, a write', bytes(get(), get('/v1/pets', HOST), post(PET)), THEN_BROKEN, 'closed'],
  ['a write, then a broken chunk', bytes(post(PET), chunked('zz\r\n')), ['201', BROKEN], 'closed'],
  ['a read, CONNECT, a write', bytes(get(), line('CONNECT x:1 HTTP/1.1'), post(PET)), [], 'closed'],
  ['Connection: close, then a write', bytes(CLOSING, post(PET)), '200', 'closed'],
  ['too large a body, then a write', bytes(post('x'.repeat(1e5)), post(PET)), [TOO_LARGE, '201'], 'open'],
  ['an upgrade, then a request', `${get('/v1/pets', UPGRADE)}${get()}`, '200', 'closed'],
  preflight('two Hosts', HOST, BROKEN),
  preflight('an Upgrade', UPGRADE, NO_KEY),
];

const UNFINISHED = `${POST}${AUTH}${JSON_TYPE}Content-Length: 10\r\n\r\n{`;

/** Requests that never arrive whole. */
export const slow: readonly Row[] = [
  ['nothing at all', '', LATE, 'closed'],
  ['half a body of an upgrade', UNFINISHED.replace('Content-', `${UPGRADE}Content-`), LATE, 'closed'],
  // Node's parser does not report the broken chunk of such a request.
  ['an upgrade with a broken chunk', chunked('zz\r\n', `${JSON_TYPE}${UPGRADE}`), LATE, 'closed'],
  ['half a body without a key', UNFINISHED.replace(AUTH, HOST), NO_KEY, 'closed'],
  ['half a body of a method without one', UNFINISHED.replace('POST', 'GET'), '200', 'closed'],
  ['a request, then half a head', `${get()}GET /v1`, ['200', LATE], 'closed'],
  ['a request, then half a body', bytes(post('{}'), UNFINISHED), [NO_BODY, LATE], 'closed'],
];
