import { DAY_MS, exhausted, MINUTE_MS } from './counters';
import type { Decision, Usage, Windows } from './rate-limit.store';

type Headers = Record<string, string>;

/** Headers of a response that was charged. */
export function decisionHeaders({ verdict, windows, now, bannedUntil }: Decision): Headers {
  const shown = verdict === 'limited' ? exhausted(windows) : tightest(windows);
  return {
    ...(bannedUntil === undefined ? usageHeaders(shown) : bannedHeaders(shown, bannedUntil)),
    ...draftHeaders(bannedUntil === undefined ? windows : closedUntil(windows, bannedUntil), now),
  };
}

/** Headers of a response that was charged to nobody. */
export function windowsHeaders(windows: Windows, now: number): Headers {
  return { ...usageHeaders(tightest(windows)), ...draftHeaders(windows, now) };
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

function usageHeaders({ limit, remaining, resetAt }: Usage): Headers {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(resetAt)),
  };
}

function bannedHeaders({ limit }: Usage, bannedUntil: number): Headers {
  return usageHeaders({ limit, remaining: 0, resetAt: bannedUntil });
}

/** The windows as a banned key finds them: nothing is left until the ban ends. */
function closedUntil({ minute, day }: Windows, resetAt: number): Windows {
  const closed = (usage: Usage): Usage => ({ ...usage, remaining: 0, resetAt });
  return { minute: closed(minute), day: day && closed(day) };
}

/** Both windows at once, as draft-ietf-httpapi-ratelimit-headers-10 has them: an extra, and experimental. */
function draftHeaders({ minute, day }: Windows, now: number): Headers {
  const named = [
    { name: 'minute', usage: minute, lengthMs: MINUTE_MS },
    ...(day ? [{ name: 'day', usage: day, lengthMs: DAY_MS }] : []),
  ];
  return {
    'RateLimit-Policy': named
      .map(({ name, usage, lengthMs }) => `"${name}";q=${usage.limit};w=${lengthMs / 1_000}`)
      .join(', '),
    RateLimit: named
      .map(({ name, usage }) => `"${name}";r=${usage.remaining};t=${seconds(usage.resetAt - now)}`)
      .join(', '),
  };
}

/** Milliseconds as whole seconds, rounded up. */
function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}
