import { AUTH, chunk, chunked, get, HOST, JSON_TYPE, PET, post, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';
const INNER = `POST /v1/pets HTTP/1.1\r\n${HOST}\r\n`;

const NO_BODY = '400 validation_failed';
const NO_KEY = '401 missing_api_key';
const TOO_LARGE = '413 payload_too_large';
const BAD_TYPE = '415 unsupported_media_type';
const XML = 'Content-Type: text/xml\r\n';
const BOTH = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n';
const CHUNKED_GET = get('/v1/pets', 'Transfer-Encoding: chunked\r\n');
const POST = 'POST /v1/pets HTTP/1.1\r\n';
const NO_PET = '404 pet_not_found';

/** deletePet, which ignores its body. */
const removal = (rest: string): string => `DELETE /v1/pets/0 HTTP/1.1\r\n${AUTH}${JSON_TYPE}${rest}`;

/** createPet with these framing headers, and bytes that a wrong reader would take for a second request. */
const framed = (lines: string, rest = '0\r\n\r\n'): string =>
  `${POST}${AUTH}${JSON_TYPE}${lines}\r\n${rest}${get()}`;

const smuggled = (lines: string, rest?: string): Row => [
  lines.trim().replaceAll('\r\n', ' and '),
  framed(lines, rest),
  BROKEN,
  'closed',
];
const accepted = (lines: string, rest?: string): Row => [
  JSON.stringify(lines),
  framed(lines, rest),
  [NO_BODY, '200'],
  'open',
];
const badChunks = (title: string, chunks: string): Row => [title, chunked(chunks + get()), BROKEN, 'closed'];

export const framing: readonly Row[] = [
  smuggled(BOTH),
  smuggled('Transfer-Encoding: gzip, chunked\r\n'),
  smuggled('Transfer-Encoding:\r\n'),
  smuggled('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
  smuggled('Transfer-Encoding : chunked\r\n'),
  smuggled('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  smuggled('Content-Length: 2, 2\r\n', '{}'),
  smuggled('Content-Length: +2\r\n', '{}'),
  smuggled('Content-Length:\r\n', '{}'),
  smuggled('Content-Length: 18446744073709551616\r\n', '{}'),
  // RFC 9110, section 5.5, allows the tab. The parser of Node 20 rejects it; later ones read a length of 2.
  [
    'Content-Length: 2 and a tab',
    framed('Connection: close\r\nContent-Length: 2\t\r\n', '{}'),
    '400',
    'closed',
  ],
  [
    'chunked in HTTP/1.0',
    framed('Transfer-Encoding: chunked\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    BROKEN,
    'closed',
  ],
  accepted('Content-Length: 02\r\n', '{}'),
  [
    'the largest Content-Length',
    framed('Connection: close\r\nContent-Length: 18446744073709551615\r\n', '{}'),
    TOO_LARGE,
    'closed',
  ],
  accepted('Transfer-Encoding: Chunked\r\n'),
  ['one chunk', chunked(`${chunk(PET)}0\r\n\r\n`), '201', 'open'],
  ['a chunk extension', chunked(`${chunk(PET).replace('\r\n', ';a=b;c="d"\r\n')}0;e\r\n\r\n`), '201', 'open'],
  ['trailers', chunked(`${chunk(PET)}0\r\nX-Checksum: 1\r\n\r\n`), '201', 'open'],
  ['no chunk but the last', chunked('0\r\n\r\n'), NO_BODY, 'open'],
  ['a chunked body in XML', chunked(`${chunk('<pet/>')}0\r\n\r\n`, XML), BAD_TYPE, 'open'],
  badChunks('a chunk size of letters', 'zz\r\n{}\r\n0\r\n\r\n'),
  badChunks('a chunk size beyond 64 bits', 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'),
  badChunks('a chunk longer than its size', '1\r\n{}\r\n0\r\n\r\n'),
  badChunks('a trailer without a colon', `${chunk(PET)}0\r\nX y\r\n\r\n`),
  badChunks('a trailer Content-Length', `${chunk(PET)}0\r\nContent-Length: 5\r\n\r\n`),
  [
    'trailers of 20,000 bytes',
    chunked(`${chunk(PET)}0\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`),
    '431 headers_too_large',
    'closed',
  ],
  ['a GET with a body', `${get('/v1/pets', 'Content-Length: 5\r\n')}hello`, '200', 'open'],
  ['a GET with a broken chunked body', `${CHUNKED_GET}zz\r\n${get()}`, '200', 'closed'],
  [
    'a GET whose body is a request',
    `${get('/v1/pets', `Content-Length: ${INNER.length}\r\n`)}${INNER}`,
    '200',
    'open',
  ],
  ['a DELETE of an animal with a body in text', removal('Content-Length: 5\r\n\r\nhello'), NO_PET, 'open'],
  ['a body without a key', post(PET).toString().replace('Bearer ', ''), NO_KEY, 'open'],
  [
    'a broken body without a key',
    `${POST}${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n${get()}`,
    NO_KEY,
    'closed',
  ],
  ['a body of 2 MB', post('x'.repeat(2_000_000)), TOO_LARGE, 'open'],
  [
    'Expect: 100-continue with a body',
    `${POST}${AUTH}${JSON_TYPE}Expect: 100-continue\r\nContent-Length: ${PET.length}\r\n\r\n${PET}`,
    ['100', '201'],
    'open',
  ],
  [
    'Expect: 100-continue with a body that is too large',
    `${POST}${AUTH}${JSON_TYPE}Expect: 100-continue\r\nContent-Length: 500000\r\n\r\n`,
    TOO_LARGE,
    'closed',
  ],
  [
    'Expect: 100-continue without a key',
    `${POST}${HOST}Expect: 100-continue\r\nContent-Length: 50\r\n\r\n`,
    NO_KEY,
    'closed',
  ],
];
