import type { ApiHeaderOptions } from '@nestjs/swagger';

/** The bare form, or the quoted form, in which a backslash precedes quotes and backslashes. */
const PATTERN = String.raw`^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`;
const MAX_LENGTH = 512;

/** The request header of an idempotent operation, in the OpenAPI document. */
export const IDEMPOTENCY_KEY_HEADER: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'Makes retries safe: for 24 h a request with the same key and body gets the first response again. The key is a text of 1 to 255 visible ASCII characters, bare or quoted, such as a UUID. Use a new key for each new request.',
  // No example: Swagger UI would send it with every request.
  schema: { type: 'string', minLength: 1, maxLength: MAX_LENGTH, pattern: PATTERN },
};
