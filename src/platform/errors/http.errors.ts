import type { ApiError } from './api-error';
import { platformErrors } from './platform.errors';
import { inBody, type Place, type Problem } from './problem';

/** The wait before a retry if the service cannot know how long a failure lasts. */
const RETRY_AFTER_SECONDS = 1;
const RETRY_AFTER = { 'Retry-After': String(RETRY_AFTER_SECONDS) };

/** The challenge of RFC 6750, section 3. */
export const BEARER_CHALLENGE = 'Bearer realm="animal-store"';

export function malformedRequest(message?: string): ApiError {
  return platformErrors.malformed_request(message === undefined ? {} : { message });
}

/** The place of a mistake in the text of a body. */
interface TextPlace {
  /** Zero-based, in UTF-16 units. */
  readonly character: number;
  /** Such as `line 1, column 9`. */
  readonly line: string;
}

/**
 * @param reason continues "The body is not acceptable JSON:"
 * @param at where the text is wrong, if that is known
 * @param place the member that is wrong; default: the whole body
 */
export function malformedJson(reason: string, at?: TextPlace, place: Place = inBody()): ApiError {
  const beginning = 'The body is not acceptable JSON';
  if (!at) {
    const detail = `${beginning}: ${reason}`;
    return platformErrors.malformed_json({ message: `${detail}.`, problems: [{ ...place, detail }] });
  }
  const detail = `${beginning} at ${at.line} (character ${at.character}): ${reason}`;
  const message = `${beginning}: ${reason} (at character ${at.character}).`;
  return platformErrors.malformed_json({ message, problems: [{ ...place, detail }] });
}

/** @param message without its full stop; default: the details of all problems */
export function validationFailed(
  problems: readonly Problem[],
  message = problems.map(({ detail }) => detail).join('; '),
): ApiError {
  return platformErrors.validation_failed({ message: `${message}.`, problems });
}

export function invalidCursor(): ApiError {
  return platformErrors.invalid_cursor();
}

export function routeNotFound(): ApiError {
  return platformErrors.route_not_found();
}

/** @param allow the methods of the URL, in the form of the `Allow` header (RFC 9110, 10.2.1) */
export function methodNotAllowed(allow: string): ApiError {
  return platformErrors.method_not_allowed({
    message: `This address supports only ${allow}.`,
    headers: { Allow: allow },
  });
}

export function requestTimeout(): ApiError {
  return platformErrors.request_timeout();
}

export function preconditionFailed(): ApiError {
  return platformErrors.precondition_failed();
}

export function payloadTooLarge(limitBytes: number): ApiError {
  return platformErrors.payload_too_large({ message: `The body is larger than ${limitBytes} bytes.` });
}

export function uriTooLong(limitBytes: number): ApiError {
  return platformErrors.uri_too_long({ message: `The URL is longer than ${limitBytes} bytes.` });
}

export const JSON_ONLY = 'Content-Type must be application/json.';

export function unsupportedMediaType(message: string): ApiError {
  return platformErrors.unsupported_media_type({ message });
}

export function expectationFailed(): ApiError {
  return platformErrors.expectation_failed();
}

export function headersTooLarge(message?: string): ApiError {
  return platformErrors.headers_too_large(message === undefined ? {} : { message });
}

export function tooManyHeaders(limit: number): ApiError {
  return headersTooLarge(`The request has more than ${limit} headers.`);
}

export function internalError(): ApiError {
  return platformErrors.internal_error();
}

/** The request had no effect. */
export function serviceUnavailable(): ApiError {
  return platformErrors.service_unavailable({ headers: RETRY_AFTER });
}

/** The request may or may not have taken effect: its outcome is unknown. */
export function outcomeUnknown(): ApiError {
  const message =
    'The connection to the database was lost, so this request may or may not have taken effect. Check before you retry; with an Idempotency-Key a retry is safe.';
  return platformErrors.service_unavailable({ message, headers: RETRY_AFTER });
}
