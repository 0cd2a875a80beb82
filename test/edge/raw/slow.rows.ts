import { AUTH, get, HOST, JSON_TYPE, post, type Row } from '../support/raw-rows';

const LATE = '408 request_timeout';
const UNFINISHED = `POST /v1/pets HTTP/1.1\r\n${AUTH}${JSON_TYPE}Content-Length: 10\r\n\r\n{`;

/** Requests that never arrive whole. */
export const slow: readonly Row[] = [
  ['nothing at all', '', LATE, 'closed'],
  ['the preface of HTTP/2 as HTTP/1.1', 'PRI * HTTP/1.1\r\n\r\n', LATE, 'closed'],
  ['half a head', `GET /v1/pets HTTP/1.1\r\n${HOST}`, LATE, 'closed'],
  ['half a body', UNFINISHED, LATE, 'closed'],
  [
    'half a body of an upgrade',
    UNFINISHED.replace('Content-Length', 'Connection: Upgrade\r\nUpgrade: x\r\nContent-Length'),
    LATE,
    'closed',
  ],
  [
    // Node's parser does not report the broken chunk of such a request.
    'an upgrade with a broken chunk',
    `POST /v1/pets HTTP/1.1\r\n${AUTH}${JSON_TYPE}Upgrade: x\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    LATE,
    'closed',
  ],
  ['half a body without a key', UNFINISHED.replace(AUTH, HOST), '401 missing_api_key', 'closed'],
  ['half a body of a method without one', UNFINISHED.replace('POST', 'GET'), '200', 'closed'],
  ['a good request, then half a head', `${get()}GET /v1`, ['200', LATE], 'closed'],
  [
    'a good request, then half a body',
    Buffer.concat([post('{}'), Buffer.from(UNFINISHED)]),
    ['400 validation_failed', LATE],
    'closed',
  ],
];
