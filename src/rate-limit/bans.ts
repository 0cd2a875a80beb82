import type { Config } from '../platform/config/config';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';

/** The number of strikes within the strike period that ban a key, and the length of the ban. */
export interface BanPolicy {
  /** 0 switches bans off, as does a length of 0. */
  readonly strikes: number;
  readonly seconds: number;
}

/** The recent rejections, strikes and ban of a key. Times are milliseconds since the epoch. */
export interface KeyHistory {
  /** The time of its first 429 in the window, and the end of the wait that its `Retry-After` asked for. */
  readonly firstRejectedAt: number;
  readonly askedToWaitUntil: number;
  /** The times of its early retries within the strike period. */
  readonly strikes: readonly number[];
  /** The last ban; both 0 for none. */
  readonly bannedAt: number;
  readonly bannedUntil: number;
}

/** Requests within this time after the first 429 are not strikes: they may have been sent concurrently. */
export const GRACE_MS = SECOND_MS;
/** At most one strike counts in this time, so that each worker of a fleet with one key can get its first 429. */
export const STRIKE_SPACING_MS = SECOND_MS;
export const STRIKE_PERIOD_MS = 5 * MINUTE_MS;
/** A ban within this time after the last one is longer. */
export const REPEAT_PERIOD_MS = DAY_MS;
export const REPEAT_FACTOR = 6;

const NO_HISTORY = afterBan({ bannedAt: 0, bannedUntil: 0 });

/** Returns the history after a 429 of a window that ends at `resetAt`. The 429 may begin a ban. */
export function afterRejection(
  known: KeyHistory = NO_HISTORY,
  now: number,
  resetAt: number,
  policy: BanPolicy,
): KeyHistory {
  // If the clock was set back, this is the first 429 again.
  const isFirst = now >= known.askedToWaitUntil || now < known.firstRejectedAt;
  const isStrike = !isFirst && now > known.firstRejectedAt + GRACE_MS && isSpaced(known, now);
  const offender = {
    ...known,
    firstRejectedAt: isFirst ? now : known.firstRejectedAt,
    askedToWaitUntil: resetAt,
  };
  return isStrike ? withStrike(offender, now, policy) : offender;
}

/** Returns the history after an admitted request, which ends the wait. */
export function afterAdmission(known: KeyHistory): KeyHistory {
  return { ...known, firstRejectedAt: 0, askedToWaitUntil: 0 };
}

/** Returns the history of a key of which only the last ban is known. */
export function afterBan({
  bannedAt,
  bannedUntil,
}: Pick<KeyHistory, 'bannedAt' | 'bannedUntil'>): KeyHistory {
  return { firstRejectedAt: 0, askedToWaitUntil: 0, strikes: [], bannedAt, bannedUntil };
}

/** Returns the strikes that count: a ban needs them within the strike period. */
export function recentStrikes({ strikes }: KeyHistory, now: number): number[] {
  return strikes.filter((at) => at > now - STRIKE_PERIOD_MS && at <= now);
}

/** True if the history no longer affects a decision. */
export function isForgettable(
  { askedToWaitUntil, strikes, bannedAt, bannedUntil }: KeyHistory,
  now: number,
): boolean {
  const lastStrike = strikes.at(-1) ?? 0;
  return (
    askedToWaitUntil <= now &&
    lastStrike <= now - STRIKE_PERIOD_MS &&
    bannedUntil <= now &&
    bannedAt <= now - REPEAT_PERIOD_MS
  );
}

/** Returns the rules of RATE_LIMIT_BAN_AFTER and RATE_LIMIT_BAN_SECONDS. */
export function banPolicyOf({
  rateLimitBanAfter,
  rateLimitBanSeconds,
}: Pick<Config, 'rateLimitBanAfter' | 'rateLimitBanSeconds'>): BanPolicy {
  return { strikes: rateLimitBanAfter, seconds: rateLimitBanSeconds };
}

export function isOff({ strikes, seconds }: BanPolicy): boolean {
  return strikes === 0 || seconds === 0;
}

/** Keeps the length of a ban if the clock was set back to a time before the ban. */
export function clampBan(known: KeyHistory, now: number): KeyHistory {
  if (known.bannedAt <= now) return known;
  return { ...known, bannedAt: now, bannedUntil: now + known.bannedUntil - known.bannedAt };
}

/** Uses the absolute distance: the last strike is in the future if the clock was set back. */
function isSpaced({ strikes }: KeyHistory, now: number): boolean {
  return Math.abs(now - (strikes.at(-1) ?? 0)) >= STRIKE_SPACING_MS;
}

function withStrike(offender: KeyHistory, now: number, policy: BanPolicy): KeyHistory {
  const strikes = [...recentStrikes(offender, now), now];
  if (strikes.length < policy.strikes) return { ...offender, strikes };
  const isRepeat = offender.bannedAt > 0 && now - offender.bannedAt <= REPEAT_PERIOD_MS;
  const seconds = policy.seconds * (isRepeat ? REPEAT_FACTOR : 1);
  const bannedUntil = now + seconds * SECOND_MS;
  // A client that retries when the ban ends gets no strike.
  return { firstRejectedAt: 0, askedToWaitUntil: bannedUntil, strikes: [], bannedAt: now, bannedUntil };
}
