import type { ApiHeaderOptions } from '@nestjs/swagger';
import { text } from '../errors/error.schemas';

/** The bare form, or the quoted form, in which a backslash precedes quotes and backslashes. */
const PATTERN = String.raw`^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`;

// None of them has an example: Swagger UI would send it with every request.

/** The request header of an idempotent operation, in the OpenAPI document. */
export const IDEMPOTENCY_KEY_HEADER: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'Makes retries safe: for 24 h a request with the same key and body gets the first response again. The key is a text of 1 to 255 visible ASCII characters, bare or quoted, such as a UUID. Use a new key for each new request.',
  schema: text(512, PATTERN, { minLength: 1 }),
};

/** `*`, or entity tags in a list (RFC 9110, 8.8.3). */
const TAGS = text(8_192, String.raw`^(\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*)$`, { minLength: 1 });

/** The request header of a conditional change (RFC 9110, 13.1.1). */
export const IF_MATCH_HEADER: ApiHeaderOptions = {
  name: 'If-Match',
  required: false,
  description:
    'The `ETag` of the representation that the client has seen, or several. If it is no longer current, the response is 412 and nothing changes.',
  schema: TAGS,
};

/** The request header of a conditional read (RFC 9110, 13.1.2). */
export const IF_NONE_MATCH_HEADER: ApiHeaderOptions = {
  name: 'If-None-Match',
  required: false,
  description:
    'The `ETag` of the response that the client has, or several. If it is current, the response is 304.',
  schema: TAGS,
};
