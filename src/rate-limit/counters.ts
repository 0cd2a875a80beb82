import { DAY_MS, MINUTE_MS } from '../platform/runtime/time';
import type { OwnerLimits, Usage, Windows } from './rate-limit.store';

/** The requests counted in a window, and its end (milliseconds since the epoch). */
export interface Counter {
  readonly used: number;
  /** Those of them that this process admitted without Redis. */
  readonly own: number;
  readonly endsAt: number;
}

/** The two windows of an owner. */
export interface Counters {
  readonly minute: Counter;
  readonly day: Counter;
}

/** The windows of an owner as Redis reports them. */
export interface RedisState {
  readonly now: number;
  readonly minute: Omit<Counter, 'own'>;
  readonly day?: Omit<Counter, 'own'>;
}

/** Stands for an unknown window and for a day without a limit. It has always ended. */
const NO_COUNTER: Counter = { used: 0, own: 0, endsAt: 0 };
export const NO_COUNTERS: Counters = { minute: NO_COUNTER, day: NO_COUNTER };

/** Returns the windows at a time: the known ones that have not ended, and new ones for the rest. */
export function countersAt(
  now: number,
  known: Counters | undefined,
  { perDay, windowMs = MINUTE_MS }: OwnerLimits,
): Counters {
  return {
    minute: inForce(now, known?.minute, now + windowMs),
    day: perDay === undefined ? NO_COUNTER : inForce(now, known?.day, nextMidnight(now)),
  };
}

export function hasRoom({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): boolean {
  return minute.used < perMinute && (perDay === undefined || day.used < perDay);
}

export function isOverdrawn({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): boolean {
  return minute.used > perMinute || (perDay !== undefined && day.used > perDay);
}

/** Returns the counters after a 429: no window begins, and a clock that was set back makes them shorter. */
export function shortenWindows(known: Counters, current: Counters): Counters {
  return { minute: shorter(known.minute, current.minute), day: shorter(known.day, current.day) };
}

/** Counts one more request in both windows. */
export function countRequest({ minute, day }: Counters): Counters {
  return { minute: oneMore(minute), day: oneMore(day) };
}

/**
 * Merges what Redis reports of a window with what this process knows. Redis does not yet know the requests that this
 * process admitted in the meantime.
 *
 * @param sent the window that was sent to Redis with the charge
 */
export function mergeFromRedis(
  known: Counter,
  reported: Omit<Counter, 'own'>,
  sent: Counter,
  now: number,
): Counter {
  // The window has not begun.
  if (reported.used === 0) return known;
  if (known.endsAt <= now) return { ...reported, own: 0 };
  const unreported = Math.max(0, known.own - sent.own);
  return {
    used: Math.max(known.used, reported.used + unreported),
    own: known.own,
    endsAt: Math.min(known.endsAt, reported.endsAt),
  };
}

export function windowsOf({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): Windows {
  return {
    minute: usageOf(minute, perMinute),
    day: perDay === undefined ? undefined : usageOf(day, perDay),
  };
}

/** Returns the exhausted window that resets last. */
export function exhaustedWindow({ minute, day }: Windows): Usage {
  if (day?.remaining !== 0) return minute;
  return minute.remaining === 0 && minute.resetAt > day.resetAt ? minute : day;
}

function oneMore({ used, own, endsAt }: Counter): Counter {
  return { used: used + 1, own: own + 1, endsAt };
}

function shorter(one: Counter, other: Counter): Counter {
  return other.endsAt < one.endsAt ? other : one;
}

/** Returns a window at a time. It is never longer than a new one, even if the clock was set back. */
function inForce(now: number, known: Counter | undefined, newEnd: number): Counter {
  if (known === undefined || known.endsAt <= now) return { used: 0, own: 0, endsAt: newEnd };
  return known.endsAt > newEnd ? { ...known, endsAt: newEnd } : known;
}

/** Converts a counter. After a change to a smaller plan, `used` may exceed the limit. */
function usageOf({ used, endsAt }: Counter, limit: number): Usage {
  return { limit, remaining: Math.max(0, limit - used), resetAt: endsAt };
}

function nextMidnight(now: number): number {
  return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
}
