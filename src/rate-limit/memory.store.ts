import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { banPolicyOf } from './bans';
import type { Ban } from './bans.repository';
import {
  countRequest,
  type Counters,
  countersAt,
  exhaustedWindow,
  hasRoom,
  mergeFromRedis,
  NO_COUNTERS,
  type RedisState,
  shortenWindows,
  windowsOf,
} from './counters';
import { KeyHistories } from './key-histories';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  type Windows,
} from './rate-limit.store';

/** The changes since the last call of `takeChanges`. */
export interface Changes {
  readonly counters: ReadonlyMap<string, Counters>;
  readonly bans: readonly Ban[];
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
  private changedOwners = new Set<string>();
  /** The rejections and bans of the keys. */
  readonly keys: KeyHistories;

  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
  ) {
    super();
    this.keys = new KeyHistories(banPolicyOf(config));
  }

  override take({ owner, limits, key }: Charge): Decision {
    const now = this.clock.now();
    const known = this.counters.get(owner);
    const counters = countersAt(now, known, limits);
    const history = key && this.keys.find(key, now);
    if (history && history.bannedUntil > now) {
      const windows = windowsOf(counters, limits);
      return { verdict: 'banned', windows, now, bannedUntil: history.bannedUntil };
    }
    if (!hasRoom(counters, limits)) {
      if (known) this.counters.set(owner, shortenWindows(known, counters));
      return this.reject(windowsOf(counters, limits), now, key?.id);
    }
    const next = countRequest(counters);
    this.counters.set(owner, next);
    this.changedOwners.add(owner);
    if (key && history) this.keys.recordAdmission(key.id, history);
    return { verdict: 'admitted', windows: windowsOf(next, limits), now };
  }

  override read({ owner, limits, key }: Charge): Standing {
    const now = this.clock.now();
    return { windows: this.peek(owner, limits, now), now, ...this.keys.standing(key, now) };
  }

  override peek(owner: string, limits: OwnerLimits, now = this.clock.now()): Windows {
    return windowsOf(countersAt(now, this.counters.get(owner), limits), limits);
  }

  /** Returns the changes since the last call. If they cannot be saved, the caller returns them with `giveBack`. */
  takeChanges(): Changes {
    const counters = new Map<string, Counters>();
    for (const owner of this.changedOwners) {
      const known = this.counters.get(owner);
      if (known) counters.set(owner, known);
    }
    this.changedOwners = new Set();
    return { counters, bans: this.keys.takeChanges() };
  }

  /** Marks changes as unsaved. */
  giveBack({ counters, bans }: Changes): void {
    for (const owner of counters.keys()) this.changedOwners.add(owner);
    this.keys.giveBack(bans);
  }

  /** Loads the counters and bans that an earlier process saved. */
  load(counters: ReadonlyMap<string, Counters>, bans: readonly Ban[]): void {
    for (const [owner, known] of counters) this.counters.set(owner, known);
    this.keys.load(bans);
  }

  /** Returns the known windows of an owner, ended ones included. */
  known(owner: string): Counters {
    return this.counters.get(owner) ?? NO_COUNTERS;
  }

  /** Merges the windows that Redis reports. `sent` are the windows that were sent with the charge. */
  learn(owner: string, { now, minute, day }: RedisState, sent: Counters): void {
    const known = this.known(owner);
    this.counters.set(owner, {
      minute: mergeFromRedis(known.minute, minute, sent.minute, now),
      day: day ? mergeFromRedis(known.day, day, sent.day, now) : known.day,
    });
  }

  /** Removes entries that no longer affect a decision. */
  sweep(): void {
    const now = this.clock.now();
    for (const [owner, { minute, day }] of this.counters) {
      if (minute.endsAt <= now && day.endsAt <= now) this.counters.delete(owner);
    }
    this.keys.sweep(now);
  }

  /** Returns the number of entries. */
  sizes(): { readonly owners: number; readonly keys: number } {
    return { owners: this.counters.size, keys: this.keys.size };
  }

  private reject(windows: Windows, now: number, keyId: string | undefined): Decision {
    const bannedUntil =
      keyId === undefined
        ? undefined
        : this.keys.recordRejection(keyId, now, exhaustedWindow(windows).resetAt);
    if (bannedUntil === undefined) return { verdict: 'limited', windows, now };
    return { verdict: 'banned', windows, now, bannedUntil, beganBan: true };
  }
}
