import type { ApiError } from '../platform/errors/api-error';
import { LIMIT_MESSAGES, platformErrors } from '../platform/errors/platform.errors';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { type Decision, type Look, tighter, tightest, type Usage } from './rate-limit.store';
import type { RouteLimit } from './route-limit';

type Message = (seconds: number) => string;

/**
 * Returns the headers of a response: the tightest window, and all windows as draft-ietf-httpapi-ratelimit-headers-10
 * defines them (experimental). Every response has them, so the function builds no lists.
 *
 * @param routes the windows of the route
 */
export function limitHeaders(
  { windows: { minute, day }, now, bannedUntil }: Look & Pick<Decision, 'bannedUntil'>,
  routes: readonly (Usage & RouteLimit)[] = [],
): Record<string, string> {
  let shown: Usage | undefined;
  let policies = '';
  let left = '';
  const add = (name: string, ttl: number, counted: Usage): void => {
    // No requests remain until the ban ends.
    const usage =
      bannedUntil === undefined ? counted : { limit: counted.limit, remaining: 0, resetAt: bannedUntil };
    const separator = shown ? ', ' : '';
    // The window may have the time of this process, and the store's time may be later.
    const wait = Math.max(0, seconds(usage.resetAt - now));
    policies += `${separator}"${name}";q=${usage.limit};w=${seconds(ttl)}`;
    left += `${separator}"${name}";r=${usage.remaining};t=${wait}`;
    shown = shown ? tighter(shown, usage) : usage;
  };
  add('minute', MINUTE_MS, minute);
  if (day) add('day', DAY_MS, day);
  for (const { name, ttl, ...usage } of routes) add(name, ttl, usage);
  const { limit, remaining, resetAt } = shown ?? minute;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(resetAt)),
    'RateLimit-Policy': policies,
    RateLimit: left,
  };
}

/**
 * Returns the 429 of a decision that is not an admission.
 *
 * `Retry-After` is at least 1. It is a difference of rounded times: a client that adds it to its clock's second gets
 * `X-RateLimit-Reset` or later.
 */
export function tooManyRequests({ now, windows, bannedUntil }: Decision, ofRoute?: Message): ApiError {
  const usage = tightest(windows);
  const limited = usage === windows.day ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  const code = bannedUntil === undefined ? limited : 'api_key_banned';
  const wait = Math.max(1, seconds(bannedUntil ?? usage.resetAt) - Math.floor(now / SECOND_MS));
  const message = (ofRoute ?? LIMIT_MESSAGES[code])(wait);
  return platformErrors[code]({ message, headers: { 'Retry-After': String(wait) } });
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
