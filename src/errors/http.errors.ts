import { ApiError } from './api-error';

/** Seconds after which a client may try again where the service cannot know better. */
const RETRY_AFTER_SECONDS = 1;
const AGAIN = { 'Retry-After': String(RETRY_AFTER_SECONDS) };

/** The challenge of RFC 6750, section 3. */
export const BEARER_CHALLENGE = 'Bearer realm="animal-store"';

export function malformedRequest(message?: string): ApiError {
  return new ApiError('malformed_request', message === undefined ? {} : { message });
}

export function malformedJson(reason: string): ApiError {
  return new ApiError('malformed_json', { message: `The body is not acceptable JSON: ${reason}.` });
}

/** @param problems sentences without their full stop, each naming the field */
export function validationFailed(problems: readonly string[]): ApiError {
  return new ApiError('validation_failed', { message: `${problems.join('; ')}.` });
}

export function invalidCursor(): ApiError {
  return new ApiError('invalid_cursor');
}

export function routeNotFound(): ApiError {
  return new ApiError('route_not_found');
}

/** @param allow the methods of this address, as the `Allow` header lists them (RFC 9110, 10.2.1) */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError('method_not_allowed', {
    message: `This address answers ${allow} only.`,
    headers: { Allow: allow },
  });
}

export function requestTimeout(): ApiError {
  return new ApiError('request_timeout');
}

export function preconditionFailed(): ApiError {
  return new ApiError('precondition_failed');
}

export function payloadTooLarge(limitBytes: number): ApiError {
  return new ApiError('payload_too_large', { message: `The body is larger than ${limitBytes} bytes.` });
}

export function uriTooLong(limitBytes: number): ApiError {
  return new ApiError('uri_too_long', { message: `The URL is longer than ${limitBytes} bytes.` });
}

export const JSON_ONLY = 'Content-Type must be application/json.';

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError('unsupported_media_type', { message });
}

export function expectationFailed(): ApiError {
  return new ApiError('expectation_failed');
}

export function headersTooLarge(message?: string): ApiError {
  return new ApiError('headers_too_large', message === undefined ? {} : { message });
}

export function tooManyHeaders(limit: number): ApiError {
  return headersTooLarge(`The request has more than ${limit} headers.`);
}

export function internalError(): ApiError {
  return new ApiError('internal_error');
}

/** What was asked for is not done. */
export function serviceUnavailable(): ApiError {
  return new ApiError('service_unavailable', { headers: AGAIN });
}

/** What was asked for may be done or not, and nobody can say which. */
export function outcomeUnknown(): ApiError {
  const message =
    'The database went away before it answered, so this may be done or not: look before you send it again; with an Idempotency-Key it is never done twice.';
  return new ApiError('service_unavailable', { message, headers: AGAIN });
}
