import { AUTH, get, HOST, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';
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
