import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../time/clock';
import { CONFIG, type Config } from '../config/config';
import { MINUTE_MS, SECOND_MS } from '../time/time';
import type { Decision } from './rate-limit.store';

/** At most one strike counts in this time: concurrent requests of a key are rejected together. */
const STRIKE_SPACING_MS = SECOND_MS;
const STRIKE_PERIOD_MS = 5 * MINUTE_MS;

/**
 * The strikes that this instance gave, and the bans of all instances. Times are milliseconds since the epoch.
 *
 * A ban is a row of `key_bans`, which every instance reads every second. `keys unban` deletes the row. While the
 * database is unavailable the known bans stay.
 */
@Injectable()
export class Bans {
  /** The number of strikes that ban a key; 0 if bans are switched off. */
  readonly banAfter: number;
  readonly banMs: number;
  /** The times of the strikes of each key. A ban deletes them. */
  private readonly strikes = new Map<string, readonly number[]>();
  /** The end of the ban of each key. */
  ends = new Map<string, number>();
  /** The ends of the bans that began here and have no row yet. */
  readonly unsaved = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) { rateLimitBanAfter, rateLimitBanSeconds }: Config,
  ) {
    this.banAfter = rateLimitBanSeconds === 0 ? 0 : rateLimitBanAfter;
    this.banMs = rateLimitBanSeconds * SECOND_MS;
  }

  /** Returns the end of the ban of a key, and the time; undefined if the key is not banned. */
  banOf(keyId: string) {
    const bannedUntil = this.ends.get(keyId);
    if (bannedUntil === undefined) return undefined;
    const now = this.clock.now();
    return bannedUntil > now ? { bannedUntil, now } : undefined;
  }

  /** Returns the strikes that count, how many ban the key, and the end of the ban if it is banned. */
  standing(keyId: string) {
    const strikes = this.recentStrikes(keyId, this.clock.now()).length;
    return { strikes, banAfter: this.banAfter, ...this.banOf(keyId) };
  }

  /** Records a 429 of a window. It is a strike, and the last strike begins a ban. */
  record(keyId: string, decision: Decision): Decision {
    if (this.banAfter === 0) return decision;
    const ban = this.banOf(keyId);
    // The request was under way when the ban began.
    if (ban) return { ...decision, verdict: 'banned', ...ban };
    const now = this.clock.now();
    const known = this.recentStrikes(keyId, now);
    if (now - (known.at(-1) ?? 0) < STRIKE_SPACING_MS) return decision;
    this.strikes.set(keyId, [...known, now]);
    if (known.length + 1 < this.banAfter) return decision;
    const bannedUntil = now + this.banMs;
    this.strikes.delete(keyId);
    this.ends.set(keyId, bannedUntil);
    this.unsaved.set(keyId, bannedUntil);
    return { ...decision, verdict: 'banned', now, bannedUntil, beganBan: true };
  }

  /** Takes over the bans of all instances. A known ban that is not among them was lifted. */
  replace(bans: readonly { readonly keyId: string; readonly bannedUntil: number }[]): void {
    const now = this.clock.now();
    const known = this.ends;
    this.ends = new Map();
    for (const [keyId, end] of [
      ...bans.map((ban) => [ban.keyId, ban.bannedUntil] as const),
      ...this.unsaved,
    ]) {
      const knownEnd = known.get(keyId) ?? 0;
      // The later end, unless the clock was ahead when the ban began here.
      const bannedUntil = knownEnd > end && knownEnd <= now + this.banMs ? knownEnd : end;
      if (bannedUntil > now) this.ends.set(keyId, bannedUntil);
    }
    for (const keyId of this.strikes.keys())
      if (this.ends.has(keyId) || this.recentStrikes(keyId, now).length === 0) this.strikes.delete(keyId);
  }

  /** Returns the strikes that count: a ban needs them within the strike period. */
  private recentStrikes(keyId: string, now: number): readonly number[] {
    return (this.strikes.get(keyId) ?? []).filter((at) => at > now - STRIKE_PERIOD_MS && at <= now);
  }
}
