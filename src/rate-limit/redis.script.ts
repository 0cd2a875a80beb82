import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';
import {
  type BanPolicy,
  GRACE_MS,
  REPEAT_FACTOR,
  REPEAT_PERIOD_MS,
  STRIKE_PERIOD_MS,
  STRIKE_SPACING_MS,
} from './bans';
import { type Counter, type Counters, NO_COUNTERS } from './counters';
import type { Decision } from './rate-limit.store';

const PREFIX = 'animal-store:';

const lua = readFileSync(join(__dirname, 'take.lua'), 'utf8');
/** The script that decides on a charge, and the hash by which Redis remembers it. */
export const TAKE = { lua, sha: createHash('sha1').update(lua).digest('hex') };

/** The charge that the script gets: it includes what the instance knows of the owner and the key. */
export interface ScriptCharge extends Counters {
  readonly instance: string;
  /** True: nothing is charged, and the verdict has no meaning. */
  readonly isReading: boolean;
  /** In milliseconds since the epoch; undefined for the time of Redis. */
  readonly now: number | undefined;
  readonly perMinute: number;
  readonly perDay: number | undefined;
  /** The length of the first window; undefined for a minute. */
  readonly windowMs: number | undefined;
  readonly key:
    { readonly unbannedAt: number; readonly bannedAt: number; readonly bannedUntil: number } | undefined;
}

/** The result of the script: the windows after the charge, the key's strikes that count, and its last ban (both times 0 for none). */
export interface ScriptResult {
  readonly verdict: Decision['verdict'];
  readonly now: number;
  readonly minute: Omit<Counter, 'own'>;
  readonly day?: Omit<Counter, 'own'>;
  readonly strikes: number;
  readonly bannedAt: number;
  readonly bannedUntil: number;
  readonly beganBan: boolean;
}

/** A charge that belongs to no account and is always admitted. It writes, so a Redis that cannot write fails the probe. */
export const PROBE: ScriptCharge = {
  instance: 'probe',
  isReading: false,
  now: undefined,
  perMinute: Number.MAX_SAFE_INTEGER,
  perDay: undefined,
  windowMs: undefined,
  ...NO_COUNTERS,
  key: undefined,
};

/** Returns the Redis keys of an owner. The part in braces puts them on the same node of a cluster. */
export function keysOf(owner: string, keyId = ''): string[] {
  const name = `${PREFIX}{${owner}}:`;
  return [`${name}minute`, `${name}day`, `${name}key:${keyId}`];
}

/** Returns unused keys on the same node as those of an owner. */
export function probeKeysOf(owner: string): string[] {
  return keysOf(owner).map((key) => `${key}:probe`);
}

/** Returns the rules that the script gets with every charge. */
export function rulesOf({ strikes, seconds }: BanPolicy): string {
  return JSON.stringify({
    minuteMs: MINUTE_MS,
    dayMs: DAY_MS,
    graceMs: GRACE_MS,
    strikeSpacingMs: STRIKE_SPACING_MS,
    strikePeriodMs: STRIKE_PERIOD_MS,
    repeatPeriodMs: REPEAT_PERIOD_MS,
    repeatFactor: REPEAT_FACTOR,
    strikes,
    banMs: seconds * SECOND_MS,
  });
}
