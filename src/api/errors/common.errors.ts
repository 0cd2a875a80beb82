import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import { ApiError, defineErrors, type DefinedError } from './api-error';

/** The challenge of RFC 6750, section 3. */
export const BEARER_CHALLENGE = 'Bearer realm="animal-store"';

const EVERY = 'every operation';

function invalidKey(when: string, message: string) {
  const headerValue = `${BEARER_CHALLENGE}, error="invalid_token", error_description="${message}"`;
  return { status: 401, when, message, on: EVERY, header: 'WWW-Authenticate', headerValue } as const;
}

const defaultErrors = defineErrors({
  request_timeout: {
    status: 408,
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time: send it again.',
  },
  payload_too_large: { status: 413, when: 'the body is too large' },
  uri_too_long: { status: 414, when: 'the URL is longer than 8,192 bytes' },
  unsupported_media_type: {
    status: 415,
    when: 'the body is not `application/json`, or has a `Content-Encoding`',
  },
  expectation_failed: {
    status: 417,
    when: '`Expect` is not `100-continue`',
    message: 'Expect must be 100-continue. Fix or omit the header.',
  },
  headers_too_large: {
    status: 431,
    when: 'URL and headers are larger than 16 KiB together, or there are more than 200 headers',
    message: 'The headers of the request are too large.',
  },
  internal_error: {
    status: 500,
    when: 'an internal failure; the log has the cause with the `X-Request-Id`',
    message: 'Something failed inside the service: report the X-Request-Id of this response.',
  },
  service_unavailable: {
    status: 503,
    when: 'the database is unavailable or too busy; retry after `Retry-After`. The request had no effect unless the message says otherwise',
    message: 'The service is temporarily unavailable. Send the request again later.',
    header: 'Retry-After',
    headerValue: '1',
  },
});

/** The codes of the response `default`, which every operation has in the document: any request can get them. */
export const defaultCodes: readonly DefinedError[] = Object.values(defaultErrors);

/** The other codes that operations of every module can return. Those of one status are in the order of the document. */
const sharedErrors = defineErrors({
  malformed_request: {
    status: 400,
    when: 'the request is not valid HTTP/1.1 or 1.0, or the path is not percent-encoded UTF-8',
    message: 'The request is not valid HTTP. In the URL, percent-encode spaces and non-ASCII characters.',
    on: EVERY,
  },
  malformed_json: {
    status: 400,
    when: 'the body is not JSON in UTF-8, has more than 32 levels or 2,000 values, or two members of one name with different values',
  },
  validation_failed: {
    status: 400,
    when: 'a field or parameter is missing or invalid; the message names each',
    on: EVERY,
  },
  invalid_cursor: {
    status: 400,
    when: '`cursor` did not come from this list with this filter',
    message:
      'cursor is not from this list with the same filter. Follow the Link header, or omit cursor to begin at the first page.',
  },
  missing_api_key: {
    status: 401,
    when: 'the request has no `Authorization` header, an empty one, or another scheme',
    message: 'Send your API key in the header "Authorization: Bearer <API_KEY>".',
    on: EVERY,
    header: 'WWW-Authenticate',
  },
  invalid_api_key: invalidKey('the key is not a key of this deployment', 'The API key is not valid.'),
  expired_api_key: invalidKey('the key has expired', 'The API key has expired.'),
  revoked_api_key: invalidKey(
    'the key was revoked, or a rotation has replaced this secret',
    'The API key was revoked.',
  ),
  insufficient_scope: {
    status: 403,
    when: 'the key lacks the scope that the message names',
    header: 'WWW-Authenticate',
  },
  address_not_allowed: {
    status: 403,
    when: 'the key may not be used from this address',
    message: 'The API key may not be used from this address.',
    on: EVERY,
    header: 'WWW-Authenticate',
    headerValue: BEARER_CHALLENGE,
  },
  route_not_found: {
    status: 404,
    when: 'there is nothing at this address',
    message: 'There is nothing at this address.',
  },
  method_not_allowed: {
    status: 405,
    when: 'the address does not support this method; `Allow` lists the supported methods',
    message: 'This address does not support this method: use one of those in Allow.',
  },
  idempotency_key_in_use: {
    status: 409,
    when: 'the first request with this `Idempotency-Key` is still running; retry after `Retry-After`',
    message: 'The first request with this Idempotency-Key is still running: send this one again later.',
    header: 'Retry-After',
    headerValue: '1',
  },
  secret_already_shown: {
    status: 409,
    when: 'the first request with this `Idempotency-Key` has shown a secret, which is not stored; `Location` is the resource that has it',
    header: 'Location',
  },
  precondition_failed: {
    status: 412,
    when: '`If-Match` does not name the current `ETag`',
    message: 'If-Match does not name the current ETag.',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'the `Idempotency-Key` was used with another body',
    message: 'This Idempotency-Key was used with another body: a new request needs a new key.',
  },
  rate_limit_exceeded: {
    status: 429,
    when: 'the requests of this minute are used up; `Retry-After` says when to retry',
    message:
      'The requests of this minute are used up. Wait for the seconds in Retry-After, and back off exponentially.',
    on: EVERY,
    header: 'Retry-After',
  },
  daily_quota_exceeded: {
    status: 429,
    when: 'the requests of this UTC day are used up',
    message: 'The requests of this day are used up. Wait for the seconds in Retry-After.',
    header: 'Retry-After',
  },
  api_key_banned: {
    status: 429,
    when: 'the key is temporarily banned for ignoring `Retry-After`',
    message:
      'The API key is temporarily banned for ignoring Retry-After. Wait for the seconds in Retry-After, and back off exponentially.',
    header: 'Retry-After',
  },
});

export const commonErrors = { ...sharedErrors, ...defaultErrors };
export const commonCodes: readonly DefinedError[] = Object.values(commonErrors);

/** @param mistakes sentences without their full stop; each names its field */
export function validationFailed(mistakes: readonly string[]): ApiError {
  return commonErrors.validation_failed({ message: `${mistakes.join('; ')}.`, mistakes });
}

/**
 * Keeps an error of the store, and status and message of another client error; others are internal errors. The code is the
 * reason phrase in snake case, also if a row of the table has it, with the same status.
 */
export function fromNestException(exception: HttpException): ApiError {
  if (exception instanceof ApiError) return exception;
  const status = exception.getStatus();
  if (status < 400 || status >= 500) return commonErrors.internal_error();
  const reason = STATUS_CODES[status] ?? 'Client Error';
  const code = reason.replaceAll("'", '').replaceAll(/\W+/g, '_').toLowerCase();
  return new ApiError({ code, status, message: messageOf(exception).trim() || reason });
}

/** Returns the message of the body that Nest would send; a list of messages is joined. */
function messageOf(exception: HttpException): string {
  const response: unknown = exception.getResponse();
  // Nest, too, does not show the text of a wrapped error to the client.
  if (response instanceof Error) return '';
  const isBody = typeof response === 'object' && response !== null && 'message' in response;
  return isBody && Array.isArray(response.message) ? response.message.join('; ') : exception.message;
}
