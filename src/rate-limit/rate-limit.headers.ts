import { DAY_MS, exhausted, MINUTE_MS } from './counters';
import type { Decision, Usage, Windows } from './rate-limit.store';

type Headers = Record<string, string>;

const MINUTE_SECONDS = MINUTE_MS / 1_000;
const DAY_SECONDS = DAY_MS / 1_000;

/** Headers of a response that was charged. */
export function decisionHeaders({ verdict, windows, now, bannedUntil }: Decision): Headers {
  const shown = verdict === 'limited' ? exhausted(windows) : tightest(windows);
  if (bannedUntil === undefined) return headersOf(shown, windows, now);
  return headersOf(closed(shown, bannedUntil), closedUntil(windows, bannedUntil), now);
}

/** Headers of a response that was charged to nobody. */
export function windowsHeaders(windows: Windows, now: number): Headers {
  return headersOf(tightest(windows), windows, now);
}

/**
 * Whole seconds to wait, at least 1. Counted between the rounded times, so that a client which adds it to the clock's
 * second arrives at `X-RateLimit-Reset` or later.
 */
export function retryAfterSeconds(now: number, resetAt: number): number {
  return Math.max(1, seconds(resetAt) - Math.floor(now / 1_000));
}

/** The window with the fewest requests remaining; of two alike the one that resets later. */
function tightest({ minute, day }: Windows): Usage {
  if (day === undefined || minute.remaining < day.remaining) return minute;
  if (day.remaining < minute.remaining) return day;
  return day.resetAt > minute.resetAt ? day : minute;
}

/**
 * One window, and both at once, as draft-ietf-httpapi-ratelimit-headers-10 has them: an extra, and experimental. Every
 * response has them, so they are written out, without lists and objects in between.
 */
function headersOf({ limit, remaining, resetAt }: Usage, { minute, day }: Windows, now: number): Headers {
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

/** The windows as a banned key finds them: nothing is left until the ban ends. */
function closedUntil({ minute, day }: Windows, resetAt: number): Windows {
  return { minute: closed(minute, resetAt), day: day && closed(day, resetAt) };
}

function closed({ limit }: Usage, resetAt: number): Usage {
  return { limit, remaining: 0, resetAt };
}

/** Milliseconds as whole seconds, rounded up. */
function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}
