import type { OwnerLimits, Usage, Windows } from './rate-limit.store';

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Requests counted in a window, and when it ends (milliseconds since the epoch). */
export interface Counter {
  readonly used: number;
  /** Those of them that this process admitted by itself, without asking Redis. */
  readonly own: number;
  readonly endsAt: number;
}

/** The two windows of an owner. */
export interface Counters {
  readonly minute: Counter;
  readonly day: Counter;
}

/** In the place of a window that is not known, or a day that is not limited: it has always ended. */
const NONE: Counter = { used: 0, own: 0, endsAt: 0 };
export const NOTHING: Counters = { minute: NONE, day: NONE };

/** The windows in force at a time: those that have not ended, new ones for the rest. */
export function countersAt(now: number, known: Counters | undefined, { perDay }: OwnerLimits): Counters {
  return {
    minute: inForce(now, known?.minute, now + MINUTE_MS),
    day: perDay === undefined ? NONE : inForce(now, known?.day, nextMidnight(now)),
  };
}

export function hasRoom({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): boolean {
  return minute.used < perMinute && (perDay === undefined || day.used < perDay);
}

export function isOverdrawn({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): boolean {
  return minute.used > perMinute || (perDay !== undefined && day.used > perDay);
}

/** What is known after a refusal: the same windows, made shorter where the clock was set back; none begins. */
export function shortened(known: Counters, inForceNow: Counters): Counters {
  return { minute: shorter(known.minute, inForceNow.minute), day: shorter(known.day, inForceNow.day) };
}

/** One more request in both windows. */
export function counted({ minute, day }: Counters): Counters {
  return { minute: oneMore(minute), day: oneMore(day) };
}

/**
 * What is known of a window after Redis told of it. It may not have heard of all that this process admitted by itself
 * meanwhile.
 *
 * @param sent what Redis had been told of it before
 */
export function learnt(known: Counter, told: Omit<Counter, 'own'>, sent: Counter, now: number): Counter {
  // A window that has not begun, and may never.
  if (told.used === 0) return known;
  if (known.endsAt <= now) return { ...told, own: 0 };
  const unheard = Math.max(0, known.own - sent.own);
  return {
    used: Math.max(known.used, told.used + unheard),
    own: known.own,
    endsAt: Math.min(known.endsAt, told.endsAt),
  };
}

export function windowsOf({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): Windows {
  return {
    minute: usageOf(minute, perMinute),
    day: perDay === undefined ? undefined : usageOf(day, perDay),
  };
}

/** Of the exhausted windows the one that resets last. */
export function exhausted({ minute, day }: Windows): Usage {
  if (day?.remaining !== 0) return minute;
  return minute.remaining === 0 && minute.resetAt > day.resetAt ? minute : day;
}

function oneMore({ used, own, endsAt }: Counter): Counter {
  return { used: used + 1, own: own + 1, endsAt };
}

function shorter(one: Counter, other: Counter): Counter {
  return other.endsAt < one.endsAt ? other : one;
}

/** A clock that was set back must not make a window longer than a new one would be. */
function inForce(now: number, known: Counter | undefined, newEnd: number): Counter {
  if (known === undefined || known.endsAt <= now) return { used: 0, own: 0, endsAt: newEnd };
  return known.endsAt > newEnd ? { ...known, endsAt: newEnd } : known;
}

/** After a change to a smaller plan more may be used than the limit allows. */
function usageOf({ used, endsAt }: Counter, limit: number): Usage {
  return { limit, remaining: Math.max(0, limit - used), resetAt: endsAt };
}

function nextMidnight(now: number): number {
  return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
}
