import type { ApiError } from '../platform/errors/api-error';
import {
  LIMIT_MESSAGES,
  type LimitCode,
  platformErrors,
  routeLimitMessage,
} from '../platform/errors/platform.errors';
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

/** Returns the 429 of a limit of a route. */
export function tooManyRequestsOfRoute({ now, windows }: Decision): ApiError {
  return rejection('rate_limit_exceeded', now, windows.minute.resetAt, routeLimitMessage);
}

function rejection(code: LimitCode, now: number, until: number, messageOf = LIMIT_MESSAGES[code]): ApiError {
  const seconds = retryAfterSeconds(now, until);
  return platformErrors[code]({
    message: messageOf(seconds),
    headers: { 'Retry-After': String(seconds) },
  });
}
