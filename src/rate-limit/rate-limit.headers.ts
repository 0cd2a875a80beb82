import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { exhaustedWindow } from './counters';
import type { Decision, Usage, Windows } from './rate-limit.store';
import type { RouteUsage } from './route-limit';

type Headers = Record<string, string>;

const MINUTE_SECONDS = MINUTE_MS / SECOND_MS;
const DAY_SECONDS = DAY_MS / SECOND_MS;

/** Returns the headers of a response to a charged request. */
export function decisionHeaders({ verdict, windows, now, bannedUntil }: Decision): Headers {
  const shown = verdict === 'limited' ? exhaustedWindow(windows) : tightest(windows);
  if (bannedUntil === undefined) return headersOf(shown, windows, now);
  return headersOf(closed(shown, bannedUntil), closedUntil(windows, bannedUntil), now);
}

/** Returns the headers of a response to a request that is not charged. */
export function windowsHeaders(windows: Windows, now: number): Headers {
  return headersOf(tightest(windows), windows, now);
}

/**
 * Returns the headers of a response of a route with limits of its own.
 *
 * @param plan the decision on the account's windows, which was made before the body was read
 * @param exhausted the window of the route to show on its 429
 */
export function routeHeaders(
  plan: Pick<Decision, 'windows' | 'now'>,
  routes: readonly RouteUsage[],
  now: number,
  exhausted: Usage | undefined,
): Headers {
  const shown = exhausted ?? routes.reduce(tighter, tightest(plan.windows));
  const headers = headersOf(shown, plan.windows, plan.now);
  const policies = routes.map(({ name, limit, ttl }) => `, "${name}";q=${limit};w=${seconds(ttl)}`);
  // A window that was not charged has the time of this process, and the store's time may be later.
  const left = routes.map(
    ({ name, remaining, resetAt }) => `, "${name}";r=${remaining};t=${Math.max(0, seconds(resetAt - now))}`,
  );
  return {
    ...headers,
    'RateLimit-Policy': headers['RateLimit-Policy'] + policies.join(''),
    RateLimit: headers.RateLimit + left.join(''),
  };
}

/**
 * Returns the whole seconds to wait, at least 1. It subtracts rounded times: a client that adds the result to its clock's
 * second gets `X-RateLimit-Reset` or later.
 */
export function retryAfterSeconds(now: number, resetAt: number): number {
  return Math.max(1, seconds(resetAt) - Math.floor(now / SECOND_MS));
}

/** Returns the tightest window of a route: on its 429 the exhausted one that resets last. */
export function tightestOf(usages: readonly Usage[]): Usage {
  return usages.reduce(tighter);
}

function tightest({ minute, day }: Windows): Usage {
  return day ? tighter(minute, day) : minute;
}

/** Returns the window with the fewest requests remaining. If both have as many, it is the one that resets later. */
function tighter(one: Usage, other: Usage): Usage {
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

/** Returns the windows of a banned key: no requests remain until the ban ends. */
function closedUntil({ minute, day }: Windows, resetAt: number): Windows {
  return { minute: closed(minute, resetAt), day: day && closed(day, resetAt) };
}

function closed({ limit }: Usage, resetAt: number): Usage {
  return { limit, remaining: 0, resetAt };
}

/** Converts milliseconds to whole seconds, rounded up. */
function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
