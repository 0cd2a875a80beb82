import {
  afterAdmission,
  afterBan,
  afterRejection,
  type BanPolicy,
  clampBan,
  isForgettable,
  isOff,
  type KeyHistory,
  recentStrikes,
} from './bans';
import type { Ban } from './bans.repository';
import type { Charge, Standing } from './rate-limit.store';

/** The rejections, strikes and bans of the keys that one process has seen. Times are milliseconds since the epoch. */
export class KeyHistories {
  private readonly histories = new Map<string, KeyHistory>();
  private changed = new Set<string>();

  constructor(private readonly policy: BanPolicy) {}

  get size(): number {
    return this.histories.size;
  }

  /** Returns the history of a key. A ban that was lifted clears it. */
  find({ id, unbannedAt }: NonNullable<Charge['key']>, now: number): KeyHistory | undefined {
    const known = this.histories.get(id);
    if (!known) return undefined;
    // Clamped before the comparison, so that the next request, which sees the clamped time, decides alike.
    const history = clampBan(known, now);
    if (isOff(this.policy) || (history.bannedAt > 0 && history.bannedAt <= unbannedAt)) {
      this.histories.delete(id);
      return undefined;
    }
    if (history !== known) this.histories.set(id, history);
    return history;
  }

  /** Returns the strikes that count, and the end of the ban if the key is banned. */
  standing(key: Charge['key'], now: number): Pick<Standing, 'strikes' | 'bannedUntil'> {
    const history = key && this.find(key, now);
    if (!history) return { strikes: 0 };
    const strikes = recentStrikes(history, now).length;
    return history.bannedUntil > now ? { strikes, bannedUntil: history.bannedUntil } : { strikes };
  }

  recordAdmission(keyId: string, history: KeyHistory): void {
    this.histories.set(keyId, afterAdmission(history));
  }

  /**
   * Records a 429 of a window that ends at `resetAt`.
   *
   * @returns the end of the ban that it began; undefined if it began none
   */
  recordRejection(keyId: string, now: number, resetAt: number): number | undefined {
    if (isOff(this.policy)) return undefined;
    const history = afterRejection(this.histories.get(keyId), now, resetAt, this.policy);
    this.histories.set(keyId, history);
    if (history.bannedUntil <= now) return undefined;
    this.changed.add(keyId);
    return history.bannedUntil;
  }

  /** Returns the last known ban of a key; both times are 0 for none. */
  lastBan(keyId: string): Omit<Ban, 'keyId'> {
    const { bannedAt = 0, bannedUntil = 0 } = this.histories.get(keyId) ?? {};
    return { bannedAt, bannedUntil };
  }

  load(bans: readonly Ban[]): void {
    for (const ban of bans) this.histories.set(ban.keyId, afterBan(ban));
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
    if (bannedAt > 0) this.histories.set(keyId, afterBan(reported));
    else if (known > 0) this.histories.delete(keyId);
    if (beganNow) this.changed.add(keyId);
  }

  /** Returns the bans that began since the last call. */
  takeChanges(): Ban[] {
    const bans = [...this.changed]
      .filter((keyId) => this.histories.has(keyId))
      .map((keyId) => ({ keyId, ...this.lastBan(keyId) }));
    this.changed = new Set();
    return bans;
  }

  /** Marks bans as unsaved. */
  giveBack(bans: readonly Ban[]): void {
    for (const { keyId } of bans) this.changed.add(keyId);
  }

  /** Removes histories that no longer affect a decision. */
  sweep(now: number): void {
    for (const [keyId, history] of this.histories) {
      if (isForgettable(history, now)) this.histories.delete(keyId);
    }
  }
}
