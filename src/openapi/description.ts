import { limitsOf, PLANS } from '../auth';
import { errorCodes } from '../errors/error-codes';
import { codeOfStatus } from '../errors/status-codes';
import { MOST_ITEMS } from '../http/page';

const number = new Intl.NumberFormat('en');

/** What a reader must know before the first request, as Markdown (`info.description`). */
export function description(): string {
  return `Animals of a store: list them, add one, fetch one; order them.

## Authentication

Every operation needs an API key, sent as \`Authorization: Bearer <API_KEY>\`. A key belongs to an account, has scopes and expires. The operator of the service makes one with \`npm run -s cli -- keys create --account NAME\` and shows it once.

## Limits

| plan | requests per minute | requests per day (UTC) |
| --- | --- | --- |
${planRows()}

The keys of an account share its two windows: the minute, which begins with the first request counted in it, and the UTC day. Every response carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix seconds) of the window with the fewest requests remaining. Past a limit the answer is 429: wait for the seconds of \`Retry-After\`, and back off exponentially. A key that keeps coming back too early is banned for a while.

## Lists

A list is a bare array ordered by \`id\`, of at most \`limit\` items (1 to ${MOST_ITEMS}). The \`Link\` header leads on (RFC 8288): \`rel="next"\` on every page but the last, \`rel="first"\` on every page but the first. Follow it as it stands; \`cursor\` is opaque. There are no totals.

## Bodies

Bodies are JSON objects in UTF-8. \`id\`, \`categoryId\` and \`petId\` are int64, exact over the whole range: read them with a parser that keeps integers beyond 2^53. Members and query parameters that are not documented are ignored. Types are never coerced, and \`null\` is not the same as a member left out.

## Errors

Every error has the body \`Error\`: \`code\`, \`message\`, \`status\`. Beyond those that the operations list, any address can answer:

${strayCodes()}

${codesByStatus()}

A GET operation answers HEAD alike, without the body.

## Changes

What is added to \`/v1\` breaks no client: operations, optional parameters, members of answers, headers, error codes. Everything else is another version beside it. Deprecated operations carry \`Deprecation\` and \`Sunset\` until their day.`;
}

function planRows(): string {
  const plans = ['free', 'pro', 'business'] as const satisfies (keyof typeof PLANS)[];
  const rows = plans.map((plan) => {
    const { perMinute, perDay } = limitsOf({ plan, perMinute: null, perDay: null });
    return `| ${titled(plan)} | ${number.format(perMinute)} | ${number.format(perDay)} |`;
  });
  return [...rows, `| Enterprise | ${PLANS.enterprise} | ${PLANS.enterprise} |`].join('\n');
}

/** Of addresses and methods that are no operation. */
function strayCodes(): string {
  return errorCodes
    .filter(({ code }) => code === 'route_not_found' || code === 'method_not_allowed')
    .map(({ status, code, when }) => `- ${status} \`${code}\`: ${when}.`)
    .join('\n');
}

/** Codes that no operation of ours responds with; the README has the same sentence. */
export function codesByStatus(): string {
  const examples = [400, 403, 409].map((status) => `${status} \`${codeOfStatus(status).code}\``).join(', ');
  return `An operation that a deployment adds may have no code for an error. The code is then the reason phrase of its status in snake case, such as ${examples}; \`client_error\` if the status has none.`;
}

function titled(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
