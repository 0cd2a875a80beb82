import type { ApiError } from '../platform/errors/api-error';
import { LIMIT_MESSAGES, platformErrors } from '../platform/errors/platform.errors';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { type Decision, type Look, tighter, tightest, type Usage } from './rate-limit.store';
import type { RouteUsage } from './route-limit';

type Message = (seconds: number) => string;
type NamedUsage = Usage & Pick<RouteUsage, 'name' | 'ttl'>;

/**
 * Returns the headers of a response: the tightest window, and all windows as draft-ietf-httpapi-ratelimit-headers-10
 * defines them (experimental).
 *
 * @param routes the windows of the route
 */
export function limitHeaders(
  { windows: { minute, day }, now, bannedUntil }: Look & Pick<Decision, 'bannedUntil'>,
  routes: readonly RouteUsage[] = [],
): Record<string, string> {
  let all: NamedUsage[] = [{ ...minute, name: 'minute', ttl: MINUTE_MS }];
  if (day) all.push({ ...day, name: 'day', ttl: DAY_MS });
  all.push(...routes);
  // No requests remain until the ban ends.
  if (bannedUntil !== undefined) all = all.map((each) => ({ ...each, remaining: 0, resetAt: bannedUntil }));
  const shown = all.reduce(tighter);
  const policies = all.map(({ name, limit, ttl }) => `"${name}";q=${limit};w=${seconds(ttl)}`);
  // The time of a window may be that of this process, and the store's time later.
  const left = ({ remaining, resetAt }: Usage) => `r=${remaining};t=${Math.max(0, seconds(resetAt - now))}`;
  return {
    'X-RateLimit-Limit': String(shown.limit),
    'X-RateLimit-Remaining': String(shown.remaining),
    'X-RateLimit-Reset': String(seconds(shown.resetAt)),
    'RateLimit-Policy': policies.join(', '),
    RateLimit: all.map((each) => `"${each.name}";${left(each)}`).join(', '),
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

/** Converts milliseconds to whole seconds, rounded up. */
function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
