import { AUTH, chunked, get, HOST, JSON_TYPE, ORIGIN, PET, post, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';
const bytes = (...parts: (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));
const GARBAGE = 'broken\r\n\r\n';
const THEN_BROKEN = ['200', BROKEN];
const STORED_THEN_BROKEN = ['201', BROKEN];
const twoHosts = get('/v1/pets', 'Host: y\r\n');

/** A preflight with these headers, and a request after it. */
const preflight = (title: string, headers: string, response: string): Row => [
  `a preflight with ${title}, then a request`,
  `OPTIONS /v1/pets HTTP/1.1\r\nOrigin: ${ORIGIN}\r\nAccess-Control-Request-Method: POST\r\n${headers}\r\n${get()}`,
  response,
  'closed',
];

/** Pipelined requests: responses have the order of the requests, and end with the first framing error. */
export const pipelines: readonly Row[] = [
  ['two requests', bytes(get(), get('/v1/pets/9999999')), ['200', '404 pet_not_found'], 'open'],
  ['fifty requests', get('/v1/pets?limit=1').repeat(50), Array<string>(50).fill('200'), 'open'],
  ['a write and a read', bytes(post(PET), get()), ['201', '200'], 'open'],
  ['a good request, then garbage', `${get()}${GARBAGE}`, THEN_BROKEN, 'closed'],
  ['garbage, then a write', bytes(GARBAGE, post(PET)), BROKEN, 'closed'],
  ['a good request, two Hosts, a write', bytes(get(), twoHosts, post(PET)), THEN_BROKEN, 'closed'],
  ['a write, then a broken chunk', bytes(post(PET), chunked('zz\r\n')), STORED_THEN_BROKEN, 'closed'],
  [
    'a good request, CONNECT, a write',
    bytes(get(), `CONNECT x:1 HTTP/1.1\r\n${AUTH}\r\n`, post(PET)),
    [],
    'closed',
  ],
  [
    'Connection: close, then a write',
    bytes(get('/v1/pets', 'Connection: close\r\n'), post(PET)),
    '200',
    'closed',
  ],
  [
    'too large a body, then a write',
    bytes(post('x'.repeat(100_000)), post(PET)),
    ['413 payload_too_large', '201'],
    'open',
  ],
  [
    'an upgrade, then a request',
    bytes(get('/v1/pets', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), get()),
    '200',
    'closed',
  ],
  ['an empty line between requests', `${get()}\r\n${get()}`, ['200', '200'], 'open'],
  preflight('two Hosts', 'Host: x\r\nHost: x\r\n', BROKEN),
  preflight('an Upgrade', `${HOST}Upgrade: x\r\nConnection: upgrade\r\n`, '401 missing_api_key'),
  preflight('an unknown Transfer-Encoding', `${HOST}Transfer-Encoding: gzip, chunked\r\n`, BROKEN),
  preflight('an unknown Expect', `${HOST}Expect: y\r\n`, '417 expectation_failed'),
  preflight('too many headers', `${HOST}${'A: b\r\n'.repeat(250)}`, '431 headers_too_large'),
];

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
