import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BanPolicy,
  GRACE_MS,
  REPEAT_FACTOR,
  REPEAT_PERIOD_MS,
  STRIKE_PERIOD_MS,
  STRIKE_SPACING_MS,
} from './bans';
import { type Counter, type Counters, DAY_MS, MINUTE_MS } from './counters';
import type { Decision } from './rate-limit.store';

const PREFIX = 'animal-store:';

/** The script that decides on a charge, and the hash by which Redis knows it. */
const lua = readFileSync(join(__dirname, 'take.lua'), 'utf8');
export const TAKE = { lua, sha: createHash('sha1').update(lua).digest('hex') };

/** A charge as the script takes it: with what the instance knows of the owner and the key. */
export interface ScriptCharge extends Counters {
  readonly instance: string;
  /** Undefined for the time of Redis. */
  readonly now: number | undefined;
  readonly perMinute: number;
  readonly perDay: number | undefined;
  readonly key:
    { readonly unbannedAt: number; readonly bannedAt: number; readonly bannedUntil: number } | undefined;
}

/** What the script answers: the windows after the charge, and the key's last ban, both times 0 for none. */
export interface ScriptAnswer {
  readonly verdict: Decision['verdict'];
  readonly now: number;
  readonly minute: Omit<Counter, 'own'>;
  readonly day?: Omit<Counter, 'own'>;
  readonly bannedAt: number;
  readonly bannedUntil: number;
  readonly beganBan: boolean;
}

/** The keys of an owner. What stands in braces decides where a key lives in a cluster: together. */
export function keysOf(owner: string, keyId = ''): string[] {
  const name = `${PREFIX}{${owner}}:`;
  return [`${name}minute`, `${name}day`, `${name}key:${keyId}`];
}

/** Keys of nobody, on the same node as those of the owner. */
export function probeKeysOf(owner: string): string[] {
  return keysOf(owner).map((key) => `${key}:probe`);
}

/** The rules as the script takes them; they are the same for every charge. */
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
    banMs: seconds * 1_000,
  });
}
