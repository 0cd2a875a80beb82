import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { DAY_MS, MAX_CLOCK_DIFFERENCE_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import { type Ban, RateLimitRepository } from './rate-limit.repository';
import { type Decision, type Standing, tightest } from './rate-limit.store';

/** The recent rejections, strikes and ban of a key. Times are milliseconds since the epoch. */
interface KeyHistory extends Omit<Ban, 'keyId'> {
  /** The time of its first 429 in the window, and the end of the wait that its `Retry-After` asked for. */
  readonly firstRejectedAt: number;
  readonly askedToWaitUntil: number;
  /** The times of its early retries. */
  readonly strikes: readonly number[];
}

/** Requests within this time after the first 429 are not strikes: they may have been sent concurrently. */
const GRACE_MS = SECOND_MS;
/** At most one strike counts in this time, so that each worker of a fleet with one key can get its first 429. */
const STRIKE_SPACING_MS = SECOND_MS;
const STRIKE_PERIOD_MS = 5 * MINUTE_MS;
/** A ban within this time after the last one is longer. */
const REPEAT_PERIOD_MS = DAY_MS;
const REPEAT_FACTOR = 6;

/**
 * The strikes that this instance gave, and the bans of all instances.
 *
 * A ban is a row of `key_bans`, which every instance reads every second. `keys unban` deletes the row. While the
 * database is unavailable the known bans stay.
 */
@Injectable()
export class Bans {
  /** By key. A key without a recent rejection has none. */
  readonly histories = new Map<string, KeyHistory>();
  /** The number of strikes that ban a key; 0 if bans are switched off. */
  readonly banAfter: number;
  private readonly banMs: number;
  private readonly unsaved = new Set<string>();

  constructor(
    private readonly repository: RateLimitRepository,
    private readonly clock: Clock,
    @Inject(CONFIG) { rateLimitBanAfter, rateLimitBanSeconds }: Config,
  ) {
    this.banAfter = rateLimitBanSeconds === 0 ? 0 : rateLimitBanAfter;
    this.banMs = rateLimitBanSeconds * SECOND_MS;
  }

  /** Returns an empty history for a key without one. */
  historyOf(keyId: string): KeyHistory {
    const known = this.histories.get(keyId);
    return known && !isAhead(known, this.clock.now()) ? known : NO_HISTORY;
  }

  /** Records the decision on a request. @returns the decision; a ban if this request is the last strike */
  record(keyId: string, decision: Decision): Decision {
    const isOfInterest = decision.verdict === 'limited' || this.histories.has(keyId);
    if (this.banAfter === 0 || !isOfInterest) return decision;
    const now = this.clock.now();
    const known = this.historyOf(keyId);
    const next = this.next(known, now, decision);
    const { bannedUntil } = next;
    this.histories.set(keyId, next);
    // A ban does not reject requests that a window has counted.
    if (bannedUntil <= now || decision.verdict === 'admitted') return decision;
    const banned = { ...decision, verdict: 'banned', now, bannedUntil } as const;
    if (next === known) return banned;
    this.unsaved.add(keyId);
    return { ...banned, beganBan: true };
  }

  /** Returns the strikes that count, and the end of the ban if the key is banned. */
  standing(keyId: string): Pick<Standing, 'strikes' | 'bannedUntil'> {
    const now = this.clock.now();
    const known = this.historyOf(keyId);
    const strikes = recentStrikes(known, now).length;
    return known.bannedUntil > now ? { strikes, bannedUntil: known.bannedUntil } : { strikes };
  }

  /** Saves the bans that began here. If that fails, the next call retries. */
  async save(): Promise<void> {
    for (const keyId of this.unsaved) {
      const { bannedAt, bannedUntil } = this.histories.get(keyId) ?? NO_HISTORY;
      await this.repository.saveBan({ keyId, bannedAt, bannedUntil });
      this.unsaved.delete(keyId);
    }
  }

  /** Reads the bans of all instances. A known ban without a row was lifted, which clears the strikes, too. */
  async read(): Promise<void> {
    if (this.banAfter === 0) return;
    const now = this.clock.now();
    const rows = await this.repository.readBans(now);
    const bans = new Map(rows.filter((ban) => !isAhead(ban, now)).map(({ keyId, ...ban }) => [keyId, ban]));
    for (const [keyId, known] of this.histories) {
      const isOver = known.askedToWaitUntil <= now && recentStrikes(known, now).length === 0;
      const isBan = known.bannedAt > 0;
      if (isBan ? !bans.has(keyId) && !this.unsaved.has(keyId) : isOver) this.histories.delete(keyId);
    }
    for (const [keyId, ban] of bans) {
      if (this.historyOf(keyId).bannedAt < ban.bannedAt) this.histories.set(keyId, { ...NO_HISTORY, ...ban });
    }
  }

  /** Returns the history after a decision. A 429 may begin a ban. */
  private next(known: KeyHistory, now: number, decision: Decision): KeyHistory {
    // Requests that were under way when the ban began.
    if (known.bannedUntil > now) return known;
    // An admitted request ends the wait.
    if (decision.verdict === 'admitted') return { ...known, firstRejectedAt: 0, askedToWaitUntil: 0 };
    // The store may have another clock.
    const waitMs = tightest(decision.windows).resetAt - decision.now;
    const isFirst = now >= known.askedToWaitUntil;
    const firstRejectedAt = isFirst ? now : known.firstRejectedAt;
    const offender = { ...known, firstRejectedAt, askedToWaitUntil: now + waitMs };
    const isSpaced = now - (known.strikes.at(-1) ?? 0) >= STRIKE_SPACING_MS;
    if (isFirst || now <= firstRejectedAt + GRACE_MS || !isSpaced) return offender;
    const strikes = [...recentStrikes(known, now), now];
    if (strikes.length < this.banAfter) return { ...offender, strikes };
    const isRepeat = known.bannedAt > 0 && now - known.bannedAt <= REPEAT_PERIOD_MS;
    const bannedUntil = now + this.banMs * (isRepeat ? REPEAT_FACTOR : 1);
    // A client that retries when the ban ends gets no strike.
    return { firstRejectedAt: 0, askedToWaitUntil: bannedUntil, strikes: [], bannedAt: now, bannedUntil };
  }
}

const NO_HISTORY: KeyHistory = {
  firstRejectedAt: 0,
  askedToWaitUntil: 0,
  strikes: [],
  bannedAt: 0,
  bannedUntil: 0,
};

/** True for a ban that begins later: a wrong clock wrote it, and it counts as over. */
function isAhead({ bannedAt }: Pick<Ban, 'bannedAt'>, now: number): boolean {
  return bannedAt > now + MAX_CLOCK_DIFFERENCE_MS;
}

/** Returns the strikes that count: a ban needs them within the strike period. */
function recentStrikes({ strikes }: KeyHistory, now: number): number[] {
  return strikes.filter((at) => at > now - STRIKE_PERIOD_MS && at <= now);
}
