import { Inject, Injectable } from '@nestjs/common';
import type { Ban } from '../auth';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import {
  admitted,
  bannedOnce,
  type BanPolicy,
  banPolicyOf,
  clamped,
  isForgettable,
  isOff,
  type Offender,
  refused,
} from './bans';
import {
  counted,
  type Counter,
  type Counters,
  countersAt,
  exhausted,
  hasRoom,
  learnt,
  NOTHING,
  shortened,
  windowsOf,
} from './counters';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Windows,
} from './rate-limit.store';

/** What has changed since it was last asked for. */
export interface Changes {
  readonly counters: ReadonlyMap<string, Counters>;
  readonly bans: readonly Ban[];
}

/** What Redis told of an owner. */
export interface Told {
  readonly now: number;
  readonly minute: Omit<Counter, 'own'>;
  readonly day?: Omit<Counter, 'own'>;
}

/**
 * The windows of one process. A charge is decided without a pause, so it is atomic. It holds an entry for each owner
 * with a window in force and each key that was refused lately, and nothing else.
 */
@Injectable()
export class MemoryRateLimitStore extends RateLimitStore {
  override readonly isShared = false;
  private readonly counters = new Map<string, Counters>();
  private readonly offenders = new Map<string, Offender>();
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
      if (known) this.counters.set(owner, shortened(known, counters));
      return this.refuse(windowsOf(counters, limits), now, key?.id);
    }
    const next = counted(counters);
    this.counters.set(owner, next);
    this.changedOwners.add(owner);
    if (key && offender) this.offenders.set(key.id, admitted(offender));
    return { verdict: 'admitted', windows: windowsOf(next, limits), now };
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return windowsOf(countersAt(this.clock.now(), this.counters.get(owner), limits), limits);
  }

  /** Hands over what changed since the last call; `giveBack` returns it where it could not be kept. */
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

  /** Marks changes as still to be kept. */
  giveBack({ counters, bans }: Changes): void {
    for (const owner of counters.keys()) this.changedOwners.add(owner);
    for (const { keyId } of bans) this.changedKeys.add(keyId);
  }

  /** Goes on from what an earlier process kept. */
  load(counters: ReadonlyMap<string, Counters>, bans: readonly Ban[]): void {
    for (const [owner, known] of counters) this.counters.set(owner, known);
    for (const ban of bans) this.offenders.set(ban.keyId, bannedOnce(ban));
  }

  /** What is known of an owner's windows, ended ones included. */
  known(owner: string): Counters {
    return this.counters.get(owner) ?? NOTHING;
  }

  /** The last ban that is known of a key; both times 0 for none. */
  lastBan(keyId: string): Omit<Ban, 'keyId'> {
    const { bannedAt = 0, bannedUntil = 0 } = this.offenders.get(keyId) ?? {};
    return { bannedAt, bannedUntil };
  }

  /** Takes over what Redis told of an owner, after it had been told what was known then. */
  learn(owner: string, { now, minute, day }: Told, sent: Counters): void {
    const known = this.known(owner);
    this.counters.set(owner, {
      minute: learnt(known.minute, minute, sent.minute, now),
      day: day ? learnt(known.day, day, sent.day, now) : known.day,
    });
  }

  /**
   * Takes over what Redis told of a key's last ban, unless another one has become known meanwhile.
   *
   * @param sentBannedAt when the ban began of which Redis had been told before
   */
  learnBan(told: Ban, sentBannedAt: number, beganNow: boolean): void {
    const { keyId, bannedAt } = told;
    const known = this.lastBan(keyId).bannedAt;
    if (bannedAt <= known && known !== sentBannedAt) return;
    if (bannedAt > 0) this.offenders.set(keyId, bannedOnce(told));
    else if (known > 0) this.offenders.delete(keyId);
    if (beganNow) this.changedKeys.add(keyId);
  }

  /** Forgets what can no longer matter. */
  sweep(): void {
    const now = this.clock.now();
    for (const [owner, { minute, day }] of this.counters) {
      if (minute.endsAt <= now && day.endsAt <= now) this.counters.delete(owner);
    }
    for (const [keyId, offender] of this.offenders) {
      if (isForgettable(offender, now)) this.offenders.delete(keyId);
    }
  }

  /** How many owners and keys are held. */
  sizes(): { readonly owners: number; readonly keys: number } {
    return { owners: this.counters.size, keys: this.offenders.size };
  }

  /** What is known of a key, unless its last ban was lifted by hand: then it begins anew. */
  private offenderOf({ id, unbannedAt }: NonNullable<Charge['key']>, now: number): Offender | undefined {
    const known = this.offenders.get(id);
    if (!known) return undefined;
    if (isOff(this.banPolicy) || (known.bannedAt > 0 && known.bannedAt <= unbannedAt)) {
      this.offenders.delete(id);
      return undefined;
    }
    const offender = clamped(known, now);
    if (offender !== known) this.offenders.set(id, offender);
    return offender;
  }

  private refuse(windows: Windows, now: number, keyId: string | undefined): Decision {
    if (keyId === undefined || isOff(this.banPolicy)) return { verdict: 'limited', windows, now };
    const offender = refused(this.offenders.get(keyId), now, exhausted(windows).resetAt, this.banPolicy);
    this.offenders.set(keyId, offender);
    if (offender.bannedUntil <= now) return { verdict: 'limited', windows, now };
    this.changedKeys.add(keyId);
    return { verdict: 'banned', windows, now, bannedUntil: offender.bannedUntil, beganBan: true };
  }
}
