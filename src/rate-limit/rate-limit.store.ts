import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { Clock } from '../time/clock';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../time/time';

/** A window as the headers show it. */
export interface Window {
  readonly limit: number;
  /** Requests left, after this one. */
  readonly remaining: number;
  /** The end in milliseconds since the epoch. A window that has not begun ends as if it began now. */
  readonly resetAt: number;
}

export interface Windows {
  readonly minute: Window;
  /** Undefined if the owner has no daily limit. */
  readonly day: Window | undefined;
}

/** The decision on a request, and the windows of its account or address after it. */
export interface Decision {
  readonly verdict: 'admitted' | 'limited' | 'banned';
  readonly windows: Windows;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
  /** The end of the ban in milliseconds since the epoch; undefined if the key is not banned. */
  readonly bannedUntil?: number;
  /** True if this request began a ban of its key. */
  readonly beganBan?: true;
}

/** Marks a request of this process to itself, a part of a request that was counted. */
export const COUNTED = Symbol('counted');

/** @internal */
declare module 'node:http' {
  interface IncomingMessage {
    [COUNTED]?: true;
  }
}

/** @internal */
declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if the request is not counted. */
    rateLimit?: Decision;

    /** Set on a route that counts no requests. Of the key, `strikes` still count, and `banAfter` ban it. */
    standing?: Decision & { readonly strikes: number; readonly banAfter: number };
  }
}

/** The limits of an owner: an account has both of its plan, an address and a route have only the first one. */
export interface OwnerLimits {
  readonly perMinute: number;
  readonly perDay?: number;
  /** The length of the first window in milliseconds. Default: a minute. */
  readonly windowMs?: number;
}

/** The requests counted in a window, and its end (milliseconds since the epoch). */
export interface Counter {
  readonly used: number;
  readonly endsAt: number;
}

export interface Counters {
  readonly minute: Counter;
  readonly day: Counter;
}

/** The decision of Redis on a request, and the windows after it. */
export interface Report extends Counters {
  readonly isAdmitted: boolean;
  readonly now: number;
}

/** The Redis script counts exactly up to this, and takes whole milliseconds. */
const MAX_ROUTE_LIMIT = 1_000_000_000;
const MAX_ROUTE_WINDOW_MS = 366 * DAY_MS;

/** Stands for a window without requests and for a day without a limit. It has always ended. */
const NO_COUNTER: Counter = { used: 0, endsAt: 0 };
const NO_COUNTERS: Counters = { minute: NO_COUNTER, day: NO_COUNTER };

/**
 * Counts requests in two fixed windows of an owner: a minute, which begins with the first counted request, and the UTC day.
 *
 * A request is admitted if both windows have requests left, and then counted in both. A rejected request is counted in
 * neither. This store decides synchronously, in the memory of the process, so each decision is atomic.
 */
@Injectable()
export class RateLimitStore implements ThrottlerStorage {
  /** Has an entry for each owner with a window that has not ended. */
  private readonly counters = new Map<string, Counters>();
  /** The owners that this process has counted since their counters were saved. */
  readonly unsaved = new Set<string>();

  constructor(protected readonly clock: Clock) {}

  /** The time by which windows end, in milliseconds since the epoch. */
  now(): number {
    return this.clock.now();
  }

  /** True while the counters are shared with other instances. */
  get isShared(): boolean {
    return false;
  }

  /**
   * Decides on one request in one atomic step.
   *
   * @param owner such as `account:7` or `ip:192.0.2.1`
   * @param isCounted false counts nothing
   */
  take(owner: string, limits: OwnerLimits, isCounted = true): Decision | Promise<Decision> {
    const now = this.now();
    const known = countersAt(now, this.known(owner), limits);
    const decision = this.merge(owner, limits, { isAdmitted: true, now, ...known }, isCounted);
    if (isCounted && decision.verdict === 'admitted') this.unsaved.add(owner);
    return decision;
  }

  /**
   * Counts a request for the library's guards.
   *
   * @param key may have any length and characters, and equal another owner
   * @param ttl the length of the window in milliseconds
   */
  async increment(key: string, ttl: number, most: number): ReturnType<ThrottlerStorage['increment']> {
    const limit = Math.min(Math.floor(most), MAX_ROUTE_LIMIT);
    const windowMs = Math.min(Math.max(1, Math.floor(ttl)), MAX_ROUTE_WINDOW_MS);
    const owner = `route:${hash('sha256', key)}`;
    const { verdict, windows, now } = await this.take(owner, { perMinute: limit, windowMs });
    const { remaining, resetAt } = windows.minute;
    const timeToExpire = Math.max(1, Math.ceil((resetAt - now) / SECOND_MS));
    const isBlocked = verdict === 'limited';
    return { totalHits: limit - remaining, timeToExpire, isBlocked, timeToBlockExpire: timeToExpire };
  }

  /** Returns the windows that all instances share, and counts nothing. */
  look(owner: string, limits: OwnerLimits): Decision | Promise<Decision> {
    return this.take(owner, limits, false);
  }

  /** Returns the windows that this process knows, and counts nothing. */
  peek(owner: string, limits: OwnerLimits): Windows {
    return windowsOf(countersAt(this.now(), this.known(owner), limits), limits);
  }

  /** Loads the counters that an earlier process saved. */
  load(counters: readonly (Counters & { readonly owner: string })[]): void {
    for (const { owner, minute, day } of counters) this.counters.set(owner, { minute, day });
  }

  /** Removes owners whose windows have ended. @returns the number of the others */
  sweep(): number {
    const now = this.now();
    for (const [owner, { minute, day }] of this.counters) {
      if (minute.endsAt <= now && day.endsAt <= now) this.counters.delete(owner);
    }
    return this.counters.size;
  }

  /** Returns the windows of an owner that this process knows, ended ones included. */
  known(owner: string): Counters {
    return this.counters.get(owner) ?? NO_COUNTERS;
  }

  /**
   * Merges what Redis, or this process, reports of an owner. A full window, too, ends earlier if the clock was set back.
   *
   * Each admission raises the requests that this process knows by at least one, and none is admitted at the limit. So
   * a process never admits more than the limit, even if Redis fails or lost its data.
   *
   * @param isCounted false if the request is not counted
   */
  protected merge(owner: string, limits: OwnerLimits, report: Report, isCounted: boolean): Decision {
    const { now } = report;
    const known = countersAt(now, this.known(owner), limits);
    const isAdmitted = report.isAdmitted && hasRoom(known, limits);
    const added = isAdmitted && isCounted ? 1 : 0;
    const counters = {
      minute: merged(known.minute, report.minute, added),
      day: limits.perDay === undefined ? NO_COUNTER : merged(known.day, report.day, added),
    };
    this.counters.set(owner, counters);
    const windows = windowsOf(countersAt(now, counters, limits), limits);
    return { verdict: isAdmitted ? 'admitted' : 'limited', windows, now };
  }
}

/** Returns the windows at a time: the known ones that have not ended, and new ones for the rest. */
function countersAt(now: number, known: Counters, { perDay, windowMs = MINUTE_MS }: OwnerLimits): Counters {
  const midnight = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  return {
    minute: inForce(now, known.minute, now + windowMs),
    day: perDay === undefined ? NO_COUNTER : inForce(now, known.day, midnight),
  };
}

/** Returns a window at a time. It is never longer than a new one, even if the clock was set back. */
function inForce(now: number, known: Counter, newEnd: number): Counter {
  if (known.endsAt <= now) return { used: 0, endsAt: newEnd };
  return known.endsAt > newEnd ? { used: known.used, endsAt: newEnd } : known;
}

function hasRoom({ minute, day }: Counters, { perMinute, perDay = Infinity }: OwnerLimits): boolean {
  return minute.used < perMinute && day.used < perDay;
}

function merged(known: Counter, reported: Counter, added: number): Counter {
  const used = Math.max(known.used + added, reported.used);
  return used === 0 ? NO_COUNTER : { used, endsAt: Math.min(known.endsAt, reported.endsAt) };
}

function windowsOf({ minute, day }: Counters, { perMinute, perDay }: OwnerLimits): Windows {
  return {
    minute: windowOf(minute, perMinute),
    day: perDay === undefined ? undefined : windowOf(day, perDay),
  };
}

/** Converts a counter. After a change to a smaller plan, `used` may exceed the limit. */
function windowOf({ used, endsAt }: Counter, limit: number): Window {
  return { limit, remaining: Math.max(0, limit - used), resetAt: endsAt };
}
