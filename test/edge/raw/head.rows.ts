import { METHODS } from 'node:http';
import { AUTH, get, HOST, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';

/** A request with this first line and the key. */
const line = (text: string): string => `${text}\r\n${AUTH}\r\n`;

const broken = (title: string, text: string): Row => [title, line(text), BROKEN, 'closed'];

export const requestLines: readonly Row[] = [
  ['a valid request', line('GET /v1/pets HTTP/1.1'), '200', 'open'],
  ['HTTP/1.0 without Host', 'GET /livez HTTP/1.0\r\n\r\n', '200', 'closed'],
  [
    'HTTP/1.0 with keep-alive',
    `GET /v1/pets HTTP/1.0\r\n${AUTH}Connection: keep-alive\r\n\r\n`,
    '200',
    'open',
  ],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', BROKEN, 'closed'],
  ['HTTP/2.0 by name', line('GET /v1/pets HTTP/2.0'), BROKEN, 'closed'],
  broken('HTTP/1.2', 'GET /v1/pets HTTP/1.2'),
  broken('a method of RTSP', 'DESCRIBE /v1/pets HTTP/1.1'),
  broken('a method of 20,000 letters', `${'A'.repeat(20_000)} /v1/pets HTTP/1.1`),
  ['escape sequences', '\u001b[31m\u001b]0;x\u0007\r\n\r\n', BROKEN, 'closed'],
  ['a target of an escape sequence', line('GET /\u001b[31m HTTP/1.1'), BROKEN, 'closed'],
  ['the greeting of TLS', Buffer.from('16030100c8010000c40303', 'hex'), BROKEN, 'closed'],
  ['empty lines first', `\r\n\r\n${get()}`, '200', 'open'],
  ['lines that end in LF only', get().replaceAll('\r', ''), BROKEN, 'closed'],
  ['CONNECT to a host', line('CONNECT example.com:443 HTTP/1.1'), '405 method_not_allowed', 'closed'],
  [
    'CONNECT, then bytes for the tunnel',
    `${line('CONNECT x:1 HTTP/1.1')}\x16\x03\x01${get()}`,
    '405 method_not_allowed',
    'closed',
  ],
  ...METHODS.filter((method) => !['CONNECT', 'GET', 'HEAD', 'POST'].includes(method)).map((method): Row => [
    `the method ${method}, which the list lacks`,
    line(`${method} /v1/pets HTTP/1.1`),
    '405 method_not_allowed',
    'open',
  ]),
  ['TRACE without a key', `TRACE /v1/pets HTTP/1.1\r\n${HOST}\r\n`, '401 missing_api_key', 'open'],
  ['HEAD', line('HEAD /v1/pets HTTP/1.1'), '200', 'open'],
];
const UNKNOWN = '404 route_not_found';

const asked = (target: string, response: string, connection: 'open' | 'closed' = 'open'): Row => [
  `the target ${target.slice(0, 40)}`,
  get(target),
  response,
  connection,
];

export const targets: readonly Row[] = [
  asked('http://x/v1/pets', '200'),
  asked('http://x', '200'),
  asked('\\v1\\pets', BROKEN, 'closed'),
  asked('*', UNKNOWN),
  ['OPTIONS * without a key', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, UNKNOWN, 'open'],
  asked('/v1/pets?limit=1&limit=2', '400 validation_failed'),
  asked('/v1/pets?cursor=%00', '400 invalid_cursor'),
  asked('/v1/pets?__proto__[limit]=1&constructor=1', '200'),
  asked('/v1/pets#x', '200'),
  asked('/v1/pets/', UNKNOWN),
  asked('//v1/pets', UNKNOWN),
  asked('/docs/..%2f..%2fetc%2fpasswd', UNKNOWN),
  asked('/v1/pets%2f1', UNKNOWN),
  asked('/v1/pets/%30', '404 pet_not_found'),
  asked(`/v1/pets/${'9'.repeat(8_000)}`, '404 pet_not_found'),
  asked(`/v1/pets/${'9'.repeat(9_000)}`, '414 uri_too_long'),
  asked(`/v1/pets?${'x'.repeat(15_000)}`, '414 uri_too_long'),
  asked(`/${'x'.repeat(17_000)}`, '431 headers_too_large', 'closed'),
  asked('/%', BROKEN),
  asked('/v1/pets/%ed%a0%80', BROKEN),
  asked('/v1/pe\0ts', BROKEN, 'closed'),
  asked('/v1/pets/\u00e9', BROKEN, 'closed'),
  [
    'a target with the byte ff',
    Buffer.from(`GET /v1/pets/\xff HTTP/1.1\r\n${HOST}\r\n`, 'latin1'),
    BROKEN,
    'closed',
  ],
  asked('/v1/%70ets', '200'),
  asked('/%761/%', BROKEN),
];
const TOO_LARGE = '431 headers_too_large';

/** listPets with the key and one more header line. */
const withLine = (header: string, response = '200', connection: Row[3] = 'open'): Row => [
  `the header ${JSON.stringify(header.slice(0, 50))}`,
  Buffer.from(get('/v1/pets', `${header}\r\n`), 'latin1'),
  response,
  connection,
];
const rejected = (header: string): Row => withLine(header, BROKEN, 'closed');

const hosts = (response: string, connection: Row[3], values: readonly string[]): Row[] =>
  values.map((value) => [
    `Host ${JSON.stringify(value.slice(0, 30))}`,
    Buffer.from(`GET /livez HTTP/1.1\r\nHost: ${value}\r\n\r\n`, 'latin1'),
    response,
    connection,
  ]);

export const headers: readonly Row[] = [
  // A value does not count as a second header of that name.
  withLine('X: \xe9\xff'),
  withLine("!#$%&'*+-.^_`|~09azAZ: every character of a name"),
  withLine('If-None-Match: "\xe9", W/, ,"'),
  withLine('Connection: close', '200', 'closed'),
  withLine('Connection: keep-alive, CLOSE', '200', 'closed'),
  withLine('Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13', '200', 'closed'),
  rejected('X : a'),
  rejected('X: a\0b'),
  rejected('X: a\r\n b'),
  rejected('X: a\nY: b'),
  withLine('Authorization: Bearer x', '401 invalid_api_key'),
  ['no Host', 'GET /livez HTTP/1.1\r\n\r\n', BROKEN, 'closed'],
  ['two Hosts', `GET /livez HTTP/1.1\r\n${HOST}host: y\r\n\r\n`, BROKEN, 'closed'],
  ...hosts('200', 'open', ['', 'localhost', 'a_b.example:8080', '[::1]:3000', 'x:', 'x%20y']),
  ...hosts(BROKEN, 'closed', ['a b', 'http://x', '[x]', 'a?b', '%zz', '[::1', '\xe9.example']),
  withLine('Expect: 100-continue', '200', 'closed'),
  withLine('Expect: x', '417 expectation_failed', 'closed'),
  ['an unknown Expect in HTTP/1.0', `GET /v1/pets HTTP/1.0\r\n${AUTH}Expect: x\r\n\r\n`, '200', 'closed'],
  ['198 more headers', get('/v1/pets', 'a: b\r\n'.repeat(198)), '200', 'open'],
  ['199 more headers', get('/v1/pets', 'a: b\r\n'.repeat(199)), TOO_LARGE, 'closed'],
  ['a header of 17,000 bytes', get('/v1/pets', `X: ${'x'.repeat(17_000)}\r\n`), TOO_LARGE, 'closed'],
  ['a key of 15,000 bytes', get('/livez').replace('KEY', 'a'.repeat(15_000)), '200', 'open'],
];
