import { MAX_ITEMS } from '../../platform/paging/page';

/**
 * Returns `info.description`: Markdown with the facts that a reader needs before the first request.
 *
 * @param planTable the plans with their limits, as a Markdown table
 */
export function description(planTable: string): string {
  return `The animals of a store: list them, add one, fetch one, order one.

## Authentication

Every operation requires an API key: \`Authorization: Bearer <API_KEY>\`. A key belongs to an account, has scopes and expires. The operator of the service creates it and shows it once.

## Rate limits

${planTable}

The keys of an account share two windows: the minute, which begins with the first request counted in it, and the UTC day. Every response has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix seconds) of the window with the fewest requests remaining. Above a limit the response is 429. Wait for the seconds in \`Retry-After\`, and back off exponentially. The service temporarily bans a key that repeatedly retries too early. \`GET /key\` shows both windows and the strikes of the key, and is not counted.

## Lists

A list is a bare array ordered by \`id\`, with at most \`limit\` items (1 to ${MAX_ITEMS}). The \`Link\` header (RFC 8288) has \`rel="next"\` on every page except the last, and \`rel="first"\` on every page except the first. Use its URLs unchanged; \`cursor\` is opaque. There are no totals.

## Bodies

Bodies are JSON objects in UTF-8. \`id\`, \`categoryId\` and \`petId\` are int64, exact over the whole range. Parse them with a parser that keeps integers beyond 2^53 exact. The service ignores undocumented members and query parameters. With the request header \`Prefer: handling=strict\` (RFC 7240) they are 400 \`validation_failed\`; the message names each and the nearest known name. It never converts types; \`null\` is not the same as a missing member.

## Errors

Every error has the body \`Error\`: \`code\`, \`message\`, \`status\`. If \`Accept\` prefers \`application/problem+json\`, it has the body \`ProblemDetails\` (RFC 9457), with the same status, code and headers; \`errors\` names each invalid field.

In addition to the errors that the operations list, any URL can return 404 \`route_not_found\`, and 405 \`method_not_allowed\` with the methods in \`Allow\`. Other operations may return generic codes, such as \`bad_request\` or \`conflict\`. Handle an unknown code by its status.

Every GET operation also accepts HEAD; the response is the same without the body.

## Changes

Additions to \`/v1\` do not break clients: operations, optional parameters, response members, headers, error codes. Any other change is a new version next to it. Responses of a deprecated operation have \`Deprecation\` and \`Sunset\` headers until it is removed.`;
}
