const FIXES: Readonly<Record<number, string>> = {
  401: 'Send a valid key of this deployment. `GET /key` shows whether a key is valid; the operator of the service creates keys.',
  403: 'Use a key that may do this. `GET /key` shows the scopes of a key; the operator of the service changes them.',
  404: 'Check the address and the id: the resource may have been removed.',
  408: 'Send the request again.',
  409: 'Do first what `message` asks for. If another client was faster, read the resource again and decide.',
  412: 'Read the resource again, then send the change with its current `ETag`.',
  429: 'Wait for the seconds in `Retry-After`, then send the request again. Slow down: a client that ignores `Retry-After` is banned.',
};

/** Says what a client does about a status, in Markdown. */
export function fixOf(status: number): string {
  if (status >= 500)
    return 'Send the request again after the seconds in `Retry-After`, with the same `Idempotency-Key`. If it fails again, report the `X-Request-Id` to the operator.';
  return FIXES[status] ?? 'Fix the request as `message` says. The same request gets the same response.';
}

const GUIDE_PARTS: Readonly<Record<number, string>> = {
  400: 'guide/details#bodies-parameters-ids',
  401: 'guide#your-key',
  403: 'guide#your-key',
  412: 'guide#caching-and-safe-edits',
  422: 'guide#retries',
  429: 'guide/details#bans',
};

/** Returns the part of the guide about a status. */
export function guidePartOf(status: number): string {
  return status >= 500 ? 'guide#retries' : (GUIDE_PARTS[status] ?? 'guide/details');
}
