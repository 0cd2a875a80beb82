import { ApiError } from './api-error';

/** Seconds after which a client may try again where the service cannot know better. */
const RETRY_AFTER_SECONDS = 1;

export function malformedRequest(message = 'The request is not valid HTTP.'): ApiError {
  return new ApiError(400, 'malformed_request', message);
}

export function malformedJson(reason: string): ApiError {
  return new ApiError(400, 'malformed_json', `The body is not acceptable JSON: ${reason}.`);
}

/** @param problems sentences without their full stop, each naming the field */
export function validationFailed(problems: readonly string[]): ApiError {
  return new ApiError(400, 'validation_failed', `${problems.join('; ')}.`);
}

export function invalidCursor(): ApiError {
  return new ApiError(
    400,
    'invalid_cursor',
    'cursor is not one that this list returned for the same filter: follow the Link header, or leave it out to begin at the first page.',
  );
}

export function routeNotFound(): ApiError {
  return new ApiError(404, 'route_not_found', 'There is nothing at this address.');
}

/** @param allow the methods of this address, as the `Allow` header lists them (RFC 9110, 10.2.1) */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError(405, 'method_not_allowed', `This address answers ${allow} only.`, { Allow: allow });
}

export function requestTimeout(): ApiError {
  return new ApiError(408, 'request_timeout', 'The request did not arrive in time: send it again.');
}

export function payloadTooLarge(limitBytes: number): ApiError {
  return new ApiError(413, 'payload_too_large', `The body is larger than ${limitBytes} bytes.`);
}

export function uriTooLong(limitBytes: number): ApiError {
  return new ApiError(414, 'uri_too_long', `The URL is longer than ${limitBytes} bytes.`);
}

export const JSON_ONLY = 'Content-Type must be application/json.';

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError(415, 'unsupported_media_type', message);
}

export function expectationFailed(): ApiError {
  return new ApiError(417, 'expectation_failed', 'Expect must be 100-continue, or left out.');
}

export function headersTooLarge(message = 'The headers of the request are too large.'): ApiError {
  return new ApiError(431, 'headers_too_large', message);
}

export function tooManyHeaders(limit: number): ApiError {
  return headersTooLarge(`The request has more than ${limit} headers.`);
}

export function internalError(): ApiError {
  return new ApiError(
    500,
    'internal_error',
    'Something failed inside the service: report the X-Request-Id of this response.',
  );
}

/** What was asked for is not done. */
export function serviceUnavailable(
  message = 'The service cannot do this right now: send the request again later.',
): ApiError {
  return new ApiError(503, 'service_unavailable', message, { 'Retry-After': String(RETRY_AFTER_SECONDS) });
}

/** What was asked for may be done or not, and nobody can say which. */
export function outcomeUnknown(): ApiError {
  return serviceUnavailable(
    'The database went away before it answered, so this may be done or not: look before you send it again; with an Idempotency-Key it is never done twice.',
  );
}
