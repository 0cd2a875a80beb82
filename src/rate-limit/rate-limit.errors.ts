import type { ApiError } from '../platform/errors/api-error';
import { LIMIT_MESSAGES, type LimitCode } from '../platform/errors/limit-messages';
import { platformErrors } from '../platform/errors/platform.errors';
import { exhaustedWindow } from './counters';
import { retryAfterSeconds } from './rate-limit.headers';
import type { Decision } from './rate-limit.store';

/** Returns the 429 of a decision that is not an admission. */
export function tooManyRequests(decision: Decision): ApiError {
  const { now, windows, bannedUntil } = decision;
  if (bannedUntil !== undefined) return rejection('api_key_banned', now, bannedUntil);
  const usage = exhaustedWindow(windows);
  const code = usage === windows.day ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  return rejection(code, now, usage.resetAt);
}

function rejection(code: LimitCode, now: number, until: number): ApiError {
  const seconds = retryAfterSeconds(now, until);
  return platformErrors[code]({
    message: LIMIT_MESSAGES[code](seconds),
    headers: { 'Retry-After': String(seconds) },
  });
}
