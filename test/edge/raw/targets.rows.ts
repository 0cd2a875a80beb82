import { get, HOST, type Row } from '../support/raw-rows';

const BROKEN = '400 malformed_request';
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
