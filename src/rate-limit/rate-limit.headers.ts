import type { ApiError } from '../platform/errors/api-error';
import { LIMIT_MESSAGES, platformErrors } from '../platform/errors/platform.errors';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { type Decision, exhaustedWindow, type Look, type Usage, type Windows } from './rate-limit.store';
import type { RouteUsage } from './route-limit';

type Headers = Record<string, string>;
type Message = (seconds: number) => string;

const MINUTE_SECONDS = MINUTE_MS / SECOND_MS;
const DAY_SECONDS = DAY_MS / SECOND_MS;

/** Returns the headers of a response to a counted request. */
export function decisionHeaders({ verdict, windows, now, bannedUntil }: Decision): Headers {
  const shown = verdict === 'limited' ? exhaustedWindow(windows) : tightest(windows);
  if (bannedUntil === undefined) return headersOf(shown, windows, now);
  // No requests remain until the ban ends.
  const closed = ({ limit }: Usage): Usage => ({ limit, remaining: 0, resetAt: bannedUntil });
  const { minute, day } = windows;
  return headersOf(closed(shown), { minute: closed(minute), day: day && closed(day) }, now);
}

/** Returns the headers of a response to a request that is not counted. */
export function windowsHeaders({ windows, now }: Look): Headers {
  return headersOf(tightest(windows), windows, now);
}

/**
 * Returns the headers of a response of a route with limits of its own.
 *
 * @param exhausted the window of the route to show on its 429
 */
export function routeHeaders(
  plan: Look,
  routes: readonly RouteUsage[],
  now: number,
  exhausted: Usage | undefined,
): Headers {
  const shown = exhausted ?? routes.reduce(tighter, tightest(plan.windows));
  const headers = headersOf(shown, plan.windows, plan.now);
  for (const { name, limit, ttl, remaining, resetAt } of routes) {
    headers['RateLimit-Policy'] += `, "${name}";q=${limit};w=${seconds(ttl)}`;
    // A window that was not counted has the time of this process, and the store's time may be later.
    headers.RateLimit += `, "${name}";r=${remaining};t=${Math.max(0, seconds(resetAt - now))}`;
  }
  return headers;
}

/**
 * Returns the 429 of a decision that is not an admission.
 *
 * `Retry-After` is at least 1. It is a difference of rounded times: a client that adds it to its clock's second gets
 * `X-RateLimit-Reset` or later.
 */
export function tooManyRequests({ now, windows, bannedUntil }: Decision, ofRoute?: Message): ApiError {
  const usage = exhaustedWindow(windows);
  const limited = usage === windows.day ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  const code = bannedUntil === undefined ? limited : 'api_key_banned';
  const wait = Math.max(1, seconds(bannedUntil ?? usage.resetAt) - Math.floor(now / SECOND_MS));
  const message = (ofRoute ?? LIMIT_MESSAGES[code])(wait);
  return platformErrors[code]({ message, headers: { 'Retry-After': String(wait) } });
}

function tightest({ minute, day }: Windows): Usage {
  return day ? tighter(minute, day) : minute;
}

/** Returns the window with the fewest requests remaining. If both have as many, it is the one that resets later. */
export function tighter(one: Usage, other: Usage): Usage {
  if (one.remaining !== other.remaining) return one.remaining < other.remaining ? one : other;
  return other.resetAt > one.resetAt ? other : one;
}

/**
 * Writes one window, and both windows as draft-ietf-httpapi-ratelimit-headers-10 defines them (experimental).
 *
 * Every response has these headers, so the function builds no lists.
 */
function headersOf({ limit, remaining, resetAt }: Usage, { minute, day }: Windows, now: number) {
  const minutePolicy = `"minute";q=${minute.limit};w=${MINUTE_SECONDS}`;
  const minuteLeft = `"minute";r=${minute.remaining};t=${seconds(minute.resetAt - now)}`;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(resetAt)),
    'RateLimit-Policy': day ? `${minutePolicy}, "day";q=${day.limit};w=${DAY_SECONDS}` : minutePolicy,
    RateLimit: day ? `${minuteLeft}, "day";r=${day.remaining};t=${seconds(day.resetAt - now)}` : minuteLeft,
  };
}

/** Converts milliseconds to whole seconds, rounded up. */
function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
