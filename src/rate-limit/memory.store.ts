import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import {
  afterAdmission,
  afterBan,
  afterRejection,
  type BanPolicy,
  banPolicyOf,
  clampBan,
  isForgettable,
  isOff,
  type KeyHistory,
} from './bans';
import type { Ban } from './bans.repository';
import {
  countRequest,
  type Counter,
  type Counters,
  countersAt,
  exhaustedWindow,
  hasRoom,
  mergeFromRedis,
  NO_COUNTERS,
  shortenWindows,
  windowsOf,
} from './counters';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Windows,
} from './rate-limit.store';

/** The changes since the last call of `takeChanges`. */
export interface Changes {
  readonly counters: ReadonlyMap<string, Counters>;
  readonly bans: readonly Ban[];
}

/** The windows of an owner as Redis reports them. */
export interface RedisState {
  readonly now: number;
  readonly minute: Omit<Counter, 'own'>;
  readonly day?: Omit<Counter, 'own'>;
}

/**
 * The windows of one process. It decides on a charge synchronously, so the decision is atomic.
 *
 * It holds an entry for each owner with a window that has not ended and for each key with a recent rejection.
 */
@Injectable()
export class MemoryRateLimitStore extends RateLimitStore {
  override readonly isShared = false;
  private readonly counters = new Map<string, Counters>();
  private readonly offenders = new Map<string, KeyHistory>();
  private changedOwners = new Set<string>();
  private changedKeys = new Set<string>();
  private readonly banPolicy: BanPolicy;

  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
  ) {
    super();
    this.banPolicy = banPolicyOf(config);
  }

  override take({ owner, limits, key }: Charge): Decision {
    const now = this.clock.now();
    const known = this.counters.get(owner);
    const counters = countersAt(now, known, limits);
    const offender = key && this.offenderOf(key, now);
    if (offender && offender.bannedUntil > now) {
      const windows = windowsOf(counters, limits);
      return { verdict: 'banned', windows, now, bannedUntil: offender.bannedUntil };
    }
    if (!hasRoom(counters, limits)) {
      if (known) this.counters.set(owner, shortenWindows(known, counters));
      return this.reject(windowsOf(counters, limits), now, key?.id);
    }
    const next = countRequest(counters);
    this.counters.set(owner, next);
    this.changedOwners.add(owner);
    if (key && offender) this.offenders.set(key.id, afterAdmission(offender));
    return { verdict: 'admitted', windows: windowsOf(next, limits), now };
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return windowsOf(countersAt(this.clock.now(), this.counters.get(owner), limits), limits);
  }

  /** Returns the changes since the last call. If they cannot be saved, the caller returns them with `giveBack`. */
  takeChanges(): Changes {
    const counters = new Map<string, Counters>();
    for (const owner of this.changedOwners) {
      const known = this.counters.get(owner);
      if (known) counters.set(owner, known);
    }
    const bans = [...this.changedKeys].flatMap((keyId) => {
      const offender = this.offenders.get(keyId);
      return offender ? [{ keyId, bannedAt: offender.bannedAt, bannedUntil: offender.bannedUntil }] : [];
    });
    this.changedOwners = new Set();
    this.changedKeys = new Set();
    return { counters, bans };
  }

  /** Marks changes as unsaved. */
  giveBack({ counters, bans }: Changes): void {
    for (const owner of counters.keys()) this.changedOwners.add(owner);
    for (const { keyId } of bans) this.changedKeys.add(keyId);
  }

  /** Loads the counters and bans that an earlier process saved. */
  load(counters: ReadonlyMap<string, Counters>, bans: readonly Ban[]): void {
    for (const [owner, known] of counters) this.counters.set(owner, known);
    for (const ban of bans) this.offenders.set(ban.keyId, afterBan(ban));
  }

  /** Returns the known windows of an owner, ended ones included. */
  known(owner: string): Counters {
    return this.counters.get(owner) ?? NO_COUNTERS;
  }

  /** Returns the last known ban of a key; both times are 0 for none. */
  lastBan(keyId: string): Omit<Ban, 'keyId'> {
    const { bannedAt = 0, bannedUntil = 0 } = this.offenders.get(keyId) ?? {};
    return { bannedAt, bannedUntil };
  }

  /** Merges the windows that Redis reports. `sent` are the windows that were sent with the charge. */
  learn(owner: string, { now, minute, day }: RedisState, sent: Counters): void {
    const known = this.known(owner);
    this.counters.set(owner, {
      minute: mergeFromRedis(known.minute, minute, sent.minute, now),
      day: day ? mergeFromRedis(known.day, day, sent.day, now) : known.day,
    });
  }

  /**
   * Stores the last ban of a key as Redis reports it, unless this process has learnt of a newer one.
   *
   * @param sentBannedAt the beginning of the ban that was sent with the charge
   */
  learnBan(reported: Ban, sentBannedAt: number, beganNow: boolean): void {
    const { keyId, bannedAt } = reported;
    const known = this.lastBan(keyId).bannedAt;
    if (bannedAt <= known && known !== sentBannedAt) return;
    if (bannedAt > 0) this.offenders.set(keyId, afterBan(reported));
    else if (known > 0) this.offenders.delete(keyId);
    if (beganNow) this.changedKeys.add(keyId);
  }

  /** Removes entries that no longer affect a decision. */
  sweep(): void {
    const now = this.clock.now();
    for (const [owner, { minute, day }] of this.counters) {
      if (minute.endsAt <= now && day.endsAt <= now) this.counters.delete(owner);
    }
    for (const [keyId, offender] of this.offenders) {
      if (isForgettable(offender, now)) this.offenders.delete(keyId);
    }
  }

  /** Returns the number of entries. */
  sizes(): { readonly owners: number; readonly keys: number } {
    return { owners: this.counters.size, keys: this.offenders.size };
  }

  /** Returns the history of a key. A ban that was lifted clears it. */
  private offenderOf({ id, unbannedAt }: NonNullable<Charge['key']>, now: number): KeyHistory | undefined {
    const known = this.offenders.get(id);
    if (!known) return undefined;
    // Clamped before the comparison, so that the next request, which sees the clamped time, decides alike.
    const offender = clampBan(known, now);
    if (isOff(this.banPolicy) || (offender.bannedAt > 0 && offender.bannedAt <= unbannedAt)) {
      this.offenders.delete(id);
      return undefined;
    }
    if (offender !== known) this.offenders.set(id, offender);
    return offender;
  }

  private reject(windows: Windows, now: number, keyId: string | undefined): Decision {
    if (keyId === undefined || isOff(this.banPolicy)) return { verdict: 'limited', windows, now };
    const offender = afterRejection(
      this.offenders.get(keyId),
      now,
      exhaustedWindow(windows).resetAt,
      this.banPolicy,
    );
    this.offenders.set(keyId, offender);
    if (offender.bannedUntil <= now) return { verdict: 'limited', windows, now };
    this.changedKeys.add(keyId);
    return { verdict: 'banned', windows, now, bannedUntil: offender.bannedUntil, beganBan: true };
  }
}
