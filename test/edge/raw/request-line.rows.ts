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
