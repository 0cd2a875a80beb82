/** What is known of a `code` wherever it is sent. */
interface CodeFacts {
  readonly status: number;
  /** When it is answered, as the document and the README say it. */
  readonly when: string;
  /** The message, or an example of one where it names what is at fault. */
  readonly message: string;
  /** Which operations can answer it; without it, those that name it by `@Refuses`. */
  readonly on?: 'every operation' | 'every body';
  /** A header that goes with it. */
  readonly header?: 'Allow' | 'Retry-After' | 'WWW-Authenticate';
}

const ANY = 'every operation';
const BODY = 'every body';

/** Every `code` of an Error body. Clients rely on them: one may be added, none renamed or moved to another status. */
export const ERROR_CODES = {
  malformed_request: {
    status: 400,
    when: 'the request is not valid HTTP/1.1 or 1.0, or the path is not percent-encoded UTF-8',
    message: 'The request is not valid HTTP.',
    on: ANY,
  },
  malformed_json: {
    status: 400,
    when: 'the body is not JSON in UTF-8, is nested over 32 levels, or gives one member two values',
    message: 'The body is not acceptable JSON: it cannot be parsed (at character 8).',
    on: BODY,
  },
  validation_failed: {
    status: 400,
    when: 'a field or parameter is missing or invalid; the message names each',
    message: 'categoryId must be an integer from -9223372036854775808 to 9223372036854775807.',
    on: BODY,
  },
  invalid_cursor: {
    status: 400,
    when: '`cursor` did not come from this list with this filter',
    message:
      'cursor is not one that this list returned for the same filter: follow the Link header, or leave it out to begin at the first page.',
  },
  missing_api_key: {
    status: 401,
    when: 'no `Authorization` header, an empty one, or another scheme',
    message: 'Send your API key in the header "Authorization: Bearer <API_KEY>".',
    on: ANY,
    header: 'WWW-Authenticate',
  },
  invalid_api_key: {
    status: 401,
    when: 'no key of this deployment',
    message: 'The API key is not valid.',
    on: ANY,
    header: 'WWW-Authenticate',
  },
  expired_api_key: {
    status: 401,
    when: 'the key has expired',
    message: 'The API key has expired.',
    on: ANY,
    header: 'WWW-Authenticate',
  },
  revoked_api_key: {
    status: 401,
    when: 'the key was revoked, or this secret of it was rotated out',
    message: 'The API key was revoked.',
    on: ANY,
    header: 'WWW-Authenticate',
  },
  insufficient_scope: {
    status: 403,
    when: 'the key lacks the scope that the message names',
    message: 'The API key lacks the scope pets:write.',
    on: ANY,
    header: 'WWW-Authenticate',
  },
  pet_not_found: {
    status: 404,
    when: 'no animal has this id',
    message: 'There is no animal with this id.',
  },
  order_not_found: {
    status: 404,
    when: 'your account has no order with this id',
    message: 'Your account has no order with this id.',
  },
  route_not_found: {
    status: 404,
    when: 'there is nothing at this address',
    message: 'There is nothing at this address.',
  },
  method_not_allowed: {
    status: 405,
    when: 'the address does not answer this method; `Allow` lists those that it answers',
    message: 'This address answers GET, HEAD, POST only.',
    header: 'Allow',
  },
  request_timeout: {
    status: 408,
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time: send it again.',
    on: ANY,
  },
  pet_not_available: {
    status: 409,
    when: 'the animal is reserved or sold',
    message: 'The animal is not available: it is reserved or sold.',
  },
  invalid_transition: {
    status: 409,
    when: 'the order cannot come to this status from the one it has',
    message: 'An order that is delivered cannot become cancelled.',
  },
  idempotency_key_in_use: {
    status: 409,
    when: 'the first request with this `Idempotency-Key` is still running; try again after `Retry-After`',
    message: 'The first request with this Idempotency-Key is still running: send this one again later.',
    header: 'Retry-After',
  },
  precondition_failed: {
    status: 412,
    when: '`If-Match` does not name the current `ETag`',
    message: 'If-Match does not name the current ETag.',
  },
  payload_too_large: {
    status: 413,
    when: 'the body is too large',
    message: 'The body is larger than 65536 bytes.',
    on: BODY,
  },
  uri_too_long: {
    status: 414,
    when: 'the URL is longer than 8,192 bytes',
    message: 'The URL is longer than 8192 bytes.',
    on: ANY,
  },
  unsupported_media_type: {
    status: 415,
    when: 'the body is not `application/json`, or has a `Content-Encoding`',
    message: 'Content-Type must be application/json.',
    on: BODY,
  },
  expectation_failed: {
    status: 417,
    when: '`Expect` is something other than `100-continue`',
    message: 'Expect must be 100-continue, or left out.',
    on: ANY,
  },
  idempotency_key_reused: {
    status: 422,
    when: 'the `Idempotency-Key` was used with another body',
    message: 'This Idempotency-Key was used with another body: a new request needs a new key.',
  },
  rate_limit_exceeded: {
    status: 429,
    when: 'the requests of this minute are used up; `Retry-After` says when to go on',
    message: 'The requests of this minute are used up. Try again in 42 s, and back off exponentially.',
    on: ANY,
    header: 'Retry-After',
  },
  daily_quota_exceeded: {
    status: 429,
    when: 'the requests of this UTC day are used up',
    message: 'The requests of this day are used up. Try again in 51234 s, and back off exponentially.',
    on: ANY,
    header: 'Retry-After',
  },
  api_key_banned: {
    status: 429,
    when: 'the key did not heed `Retry-After` and is banned for a while',
    message:
      'The API key is banned for a while, because it did not heed Retry-After. Try again in 300 s, and back off exponentially.',
    on: ANY,
    header: 'Retry-After',
  },
  headers_too_large: {
    status: 431,
    when: 'URL and headers are larger than 16 KiB together, or there are more than 200 headers',
    message: 'The headers of the request are too large.',
    on: ANY,
  },
  internal_error: {
    status: 500,
    when: 'something failed inside; the log has the cause beside the `X-Request-Id`',
    message: 'Something failed inside the service: report the X-Request-Id of this response.',
    on: ANY,
  },
  service_unavailable: {
    status: 503,
    when: 'the database is away or too busy; try again after `Retry-After`. It is not done, unless the message says that it may be',
    message: 'The service cannot do this right now: send the request again later.',
    on: ANY,
    header: 'Retry-After',
  },
} as const satisfies Readonly<Record<string, CodeFacts>>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The table in its order, as it is read by whoever documents it. */
export const errorCodes: readonly (CodeFacts & { readonly code: string })[] = Object.entries(ERROR_CODES).map(
  ([code, facts]) => ({ code, ...facts }),
);
