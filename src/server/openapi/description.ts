import { platformErrors } from '../../platform/errors/platform.errors';
import { codeOfStatus } from '../../platform/errors/api-error';
import { MAX_ITEMS } from '../../platform/paging/page';

/**
 * Returns `info.description`: Markdown with the facts that a reader needs before the first request.
 *
 * @param planTable the plans with their limits, as a Markdown table
 */
export function description(planTable: string): string {
  const codesWithoutOperation = [platformErrors.route_not_found, platformErrors.method_not_allowed]
    .map(({ status, code, when }) => `- ${status} \`${code}\`: ${when}.`)
    .join('\n');
  return `The animals of a store: list them, add one, fetch one, order one.

## Authentication

Every operation requires an API key: \`Authorization: Bearer <API_KEY>\`. A key belongs to an account, has scopes and expires. The operator of the service creates it with \`npm run -s cli -- keys create --account NAME\`, which prints the key once.

## Rate limits

${planTable}

The keys of an account share two windows: the minute, which begins with the first request counted in it, and the UTC day. Every response has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix seconds) of the window with the fewest requests remaining. Above a limit the response is 429. Wait for the seconds in \`Retry-After\`, and back off exponentially. The service temporarily bans a key that repeatedly retries too early. \`GET /key\` shows both windows and the strikes of the key, and is not counted.

## Lists

A list is a bare array ordered by \`id\`, with at most \`limit\` items (1 to ${MAX_ITEMS}). The \`Link\` header (RFC 8288) has \`rel="next"\` on every page except the last, and \`rel="first"\` on every page except the first. Use its URLs unchanged; \`cursor\` is opaque. There are no totals.

## Bodies

Bodies are JSON objects in UTF-8. \`id\`, \`categoryId\` and \`petId\` are int64, exact over the whole range. Parse them with a parser that keeps integers beyond 2^53 exact. The service ignores undocumented members and query parameters. With the request header \`Prefer: handling=strict\` (RFC 7240) they are 400 \`validation_failed\`; the message names each and the nearest known name. It never converts types; \`null\` is not the same as a missing member.

## Errors

Every error has the body \`Error\`: \`code\`, \`message\`, \`status\`. If \`Accept\` prefers \`application/problem+json\`, it has the body \`ProblemDetails\` (RFC 9457), with the same status, code and headers; \`errors\` names each invalid field.

In addition to the errors that the operations list, any URL can return:

${codesWithoutOperation}

${codesByStatus()}

Every GET operation also accepts HEAD; the response is the same without the body.

## Changes

Additions to \`/v1\` do not break clients: operations, optional parameters, response members, headers, error codes. Any other change is a new version next to it. Responses of a deprecated operation have \`Deprecation\` and \`Sunset\` headers until it is removed.`;
}

/** Explains the codes that only operations of a deployment return. `docs/api.md` has the same sentence. */
export function codesByStatus(): string {
  const examples = [400, 403, 409].map((status) => `${status} \`${codeOfStatus(status).code}\``).join(', ');
  return `An operation that a deployment adds may have no code for an error. The code is then the reason phrase of its status in snake case, such as ${examples}; \`client_error\` if the status has none.`;
}
