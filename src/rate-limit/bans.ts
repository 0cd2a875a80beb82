import type { Config } from '../config/config';
import { DAY_MS } from './counters';

/** From so many strikes within the strike period on, a key is banned for so long. */
export interface BanPolicy {
  /** 0 switches bans off, as does a length of 0. */
  readonly strikes: number;
  readonly seconds: number;
}

/** What is remembered of a key that was refused. Times are milliseconds since the epoch. */
export interface Offender {
  /** When its first 429 of the window was given, and until when that asked it to wait. */
  readonly firstRefusedAt: number;
  readonly askedToWaitUntil: number;
  /** When it came back too early, within the strike period. */
  readonly strikes: readonly number[];
  /** The last ban; both 0 for none. */
  readonly bannedAt: number;
  readonly bannedUntil: number;
}

/** Requests that were under way together with the one refused first are no strikes. */
export const GRACE_MS = 1_000;
/** At most one strike in this time, so that each worker of a fleet on one key can meet its own 429. */
export const STRIKE_SPACING_MS = 1_000;
export const STRIKE_PERIOD_MS = 300_000;
/** Another ban within this time of the last one is longer. */
export const REPEAT_PERIOD_MS = DAY_MS;
export const REPEAT_FACTOR = 6;

const INNOCENT = bannedOnce({ bannedAt: 0, bannedUntil: 0 });

/** The same key after a 429 of an exhausted window that ends at `roomAgainAt`; it may be banned by now. */
export function refused(
  known: Offender = INNOCENT,
  now: number,
  roomAgainAt: number,
  policy: BanPolicy,
): Offender {
  // After the clock was set back the window has a new first refusal.
  const isFirst = now >= known.askedToWaitUntil || now < known.firstRefusedAt;
  const isStrike = !isFirst && now > known.firstRefusedAt + GRACE_MS && isSpaced(known, now);
  const offender = {
    ...known,
    firstRefusedAt: isFirst ? now : known.firstRefusedAt,
    askedToWaitUntil: roomAgainAt,
  };
  return isStrike ? withStrike(offender, now, policy) : offender;
}

/** The same key after an admitted request: whatever it was told of waiting is over. */
export function admitted(known: Offender): Offender {
  return { ...known, firstRefusedAt: 0, askedToWaitUntil: 0 };
}

/** A key of which nothing but its last ban is known. */
export function bannedOnce({ bannedAt, bannedUntil }: Pick<Offender, 'bannedAt' | 'bannedUntil'>): Offender {
  return { firstRefusedAt: 0, askedToWaitUntil: 0, strikes: [], bannedAt, bannedUntil };
}

/** True when nothing of it can matter any more. */
export function isForgettable(
  { askedToWaitUntil, strikes, bannedAt, bannedUntil }: Offender,
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

export function banPolicyOf({ rateLimitBanAfter, rateLimitBanSeconds }: Config): BanPolicy {
  return { strikes: rateLimitBanAfter, seconds: rateLimitBanSeconds };
}

export function isOff({ strikes, seconds }: BanPolicy): boolean {
  return strikes === 0 || seconds === 0;
}

/** The same key where the clock was set back behind the beginning of its ban: the ban is as long as it was meant to be. */
export function clamped(known: Offender, now: number): Offender {
  if (known.bannedAt <= now) return known;
  return { ...known, bannedAt: now, bannedUntil: now + known.bannedUntil - known.bannedAt };
}

/** The last strike is in the future if the clock was set back meanwhile. */
function isSpaced({ strikes }: Offender, now: number): boolean {
  return Math.abs(now - (strikes.at(-1) ?? 0)) >= STRIKE_SPACING_MS;
}

function withStrike(offender: Offender, now: number, policy: BanPolicy): Offender {
  const strikes = [...offender.strikes.filter((at) => at > now - STRIKE_PERIOD_MS && at <= now), now];
  if (strikes.length < policy.strikes) return { ...offender, strikes };
  const isRepeat = offender.bannedAt > 0 && now - offender.bannedAt <= REPEAT_PERIOD_MS;
  const seconds = policy.seconds * (isRepeat ? REPEAT_FACTOR : 1);
  const bannedUntil = now + seconds * 1_000;
  // From here on the client is asked to wait for the end of the ban, and heeds that by coming back then.
  return { firstRefusedAt: 0, askedToWaitUntil: bannedUntil, strikes: [], bannedAt: now, bannedUntil };
}
