import type { HeaderObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { int64Schema } from '../fields/int64';

/** The longest value of a header with a URL; a base URL may be long. */
const MAX_URL_LENGTH = 8_192;

/** @param more `minLength` or `format` */
export function text(maxLength: number, pattern: string, more: SchemaObject = {}): SchemaObject {
  return { type: 'string', ...more, maxLength, pattern };
}

/** `*`, or entity tags in a list (RFC 9110, 8.8.3). */
const TAGS = text(8_192, String.raw`^(\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*)$`, { minLength: 1 });

/** Without an example: Swagger UI would send it with every request. */
function condition(name: string, description: string) {
  return { name, required: false, description, schema: TAGS };
}

export const REQUEST_HEADERS = {
  /** Of a conditional change (RFC 9110, 13.1.1). */
  ifMatch: condition(
    'If-Match',
    'The `ETag` of the representation that the client has seen, or several. If it is no longer current, the response is 412 and nothing changes.',
  ),
  /** Of a conditional read (RFC 9110, 13.1.2). */
  ifNoneMatch: condition(
    'If-None-Match',
    'The `ETag` of the response that the client has, or several. If it is current, the response is 304.',
  ),
};

const header = (description: string, schema: SchemaObject) => ({ description, required: true, schema });
/** A response that names the header may lack it. */
const optional = (description: string, schema: SchemaObject) => ({ description, required: false, schema });
const constant = (value: string) => ({ type: 'string', enum: [value] });

/** The headers that belong to the responses that name them. */
const OWN_HEADERS = {
  Location: header(
    'Address of the created resource (RFC 9110, 10.2.2).',
    text(MAX_URL_LENGTH, '^\\S+/-?[0-9]+$', { format: 'uri-reference' }),
  ),
  Link: optional(
    'Links to other pages (RFC 8288): `next` on every page except the last, `first` on every page except the first. On a deprecated operation: `successor-version`.',
    text(MAX_URL_LENGTH, '^<[^>]+>; rel="[a-z-]+"(, <[^>]+>; rel="[a-z-]+")*$'),
  ),
  ETag: header(
    'A hash of the body (RFC 9110, 8.8.3). `If-None-Match` compares it for a read, and `If-Match` for a change.',
    text(45, '^"[A-Za-z0-9_-]{43}"$', { minLength: 45 }),
  ),
  'Cache-Control': header(
    'The client may store the response for itself, and must ask each time whether it is current.',
    constant('private, no-cache'),
  ),
  'Idempotent-Replayed': optional(
    'The response is the stored one of an earlier request with this Idempotency-Key. This request changed nothing.',
    constant('true'),
  ),
  Deprecation: optional(
    'The time since which the operation is deprecated: `@` and Unix seconds (RFC 9745).',
    text(21, '^@[0-9]+$'),
  ),
  Sunset: optional(
    'The time when the operation will be removed (RFC 8594).',
    text(29, '^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$', { minLength: 29 }),
  ),
  'Retry-After': header(
    'Seconds to wait before a retry (RFC 9110, 10.2.3): at least until the end of the rate limit window.',
    { type: 'integer', format: 'int32', minimum: 1, maximum: 2_147_483_647 },
  ),
  'WWW-Authenticate': header(
    'The authentication scheme, and the error of the key if one was sent (RFC 6750, 3).',
    text(512, '^Bearer realm="animal-store"(, [a-z_]+="[^"]*")*$'),
  ),
} as const;

type ResponseHeader = keyof typeof OWN_HEADERS;

/** Each response of the document refers to them: clients read the first, and the OWASP rules of linters require the last. */
const REFERRED_HEADERS: Readonly<Record<string, HeaderObject>> = {
  'X-RateLimit-Limit': header('The limit of the window with the fewest requests remaining.', int64Schema(1)),
  'X-RateLimit-Remaining': header('The requests remaining in that window after this one.', int64Schema(0)),
  'X-RateLimit-Reset': header(
    'The end of that window: a Unix timestamp in seconds, rounded up.',
    int64Schema(0),
  ),
  'Access-Control-Allow-Origin': optional(
    'The origin of the requesting script, if this deployment allows it (Fetch standard, CORS).',
    text(512, '^https?://\\S+$'),
  ),
};

/** The headers of every response. */
export const COMMON_HEADERS: Readonly<Record<string, HeaderObject>> = {
  ...REFERRED_HEADERS,
  'RateLimit-Policy': header(
    'Each window with its limit and length in seconds. Experimental: draft-ietf-httpapi-ratelimit-headers-10.',
    text(255, '^"[a-z]+";q=[0-9]+;w=[0-9]+(, "[a-z]+";q=[0-9]+;w=[0-9]+)*$'),
  ),
  RateLimit: header(
    'Each window with its remaining requests and the seconds to its end. Experimental, as RateLimit-Policy.',
    text(255, '^"[a-z]+";r=[0-9]+;t=[0-9]+(, "[a-z]+";r=[0-9]+;t=[0-9]+)*$'),
  ),
  'X-Request-Id': header(
    "The request's own `X-Request-Id` if it has this form, otherwise a new one. The service logs it.",
    text(128, '^[A-Za-z0-9._-]+$', { minLength: 1 }),
  ),
  'Cache-Control': header('Responses must not be stored, unless they say otherwise.', constant('no-store')),
  'X-Content-Type-Options': header(
    'Clients must not guess another media type than Content-Type (Fetch standard).',
    constant('nosniff'),
  ),
  'Preference-Applied': optional(
    'Set if the request has `Prefer: handling=strict` and was read strictly (RFC 7240).',
    constant('handling=strict'),
  ),
};

/** The components that responses of the document refer to. */
export const COMPONENT_HEADERS: Readonly<Record<string, HeaderObject>> = {
  ...OWN_HEADERS,
  ...REFERRED_HEADERS,
};

/** `Location` of a resource that a text may identify. */
export const LOCATION_OF_TEXT: HeaderObject = {
  ...OWN_HEADERS.Location,
  schema: { type: 'string', format: 'uri-reference', maxLength: MAX_URL_LENGTH },
};

/** Refers to headers of a response, its own and those of every response. */
export function headersOf(names: readonly ResponseHeader[]): Record<string, ReferenceObject> {
  const all = [...names, ...Object.keys(REFERRED_HEADERS)];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
