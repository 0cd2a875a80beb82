import type { ApiError } from '../platform/errors/api-error';
import { LIMIT_MESSAGES, platformErrors } from '../platform/errors/platform.errors';
import { SECOND_MS } from '../platform/runtime/time';
import { type Decision, type Look, tightest, type Usage } from './rate-limit.store';

/**
 * Returns the headers of a response: the tightest window, and both as draft-ietf-httpapi-ratelimit-headers-10 defines
 * them (experimental).
 */
export function limitHeaders({
  windows,
  now,
  bannedUntil,
}: Look & Pick<Decision, 'bannedUntil'>): Record<string, string> {
  // No requests remain until the ban ends.
  const shown = (counted: Usage): Usage =>
    bannedUntil === undefined ? counted : { limit: counted.limit, remaining: 0, resetAt: bannedUntil };
  // The window may have the time of this process, and the store's time may be later.
  const left = (name: string, { remaining, resetAt }: Usage): string =>
    `"${name}";r=${remaining};t=${Math.max(0, seconds(resetAt - now))}`;
  const minute = shown(windows.minute);
  const day = windows.day && shown(windows.day);
  const { limit, remaining, resetAt } = tightest({ minute, day });
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(resetAt)),
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60${day ? `, "day";q=${day.limit};w=86400` : ''}`,
    RateLimit: left('minute', minute) + (day ? `, ${left('day', day)}` : ''),
  };
}

/**
 * Returns the 429 of a decision that is not an admission.
 *
 * `Retry-After` is at least 1. It is a difference of rounded times: a client that adds it to its clock's second gets
 * `X-RateLimit-Reset` or later.
 */
export function tooManyRequests({ now, windows, bannedUntil }: Decision): ApiError {
  const usage = tightest(windows);
  const limited = usage === windows.day ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  const code = bannedUntil === undefined ? limited : 'api_key_banned';
  const wait = Math.max(1, seconds(bannedUntil ?? usage.resetAt) - Math.floor(now / SECOND_MS));
  const message = LIMIT_MESSAGES[code](wait);
  return platformErrors[code]({ message, headers: { 'Retry-After': String(wait) } });
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
