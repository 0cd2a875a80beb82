import { ApiError } from '../errors/api-error';
import type { ErrorCode } from '../errors/error-codes';
import { exhausted } from './counters';
import { retryAfterSeconds } from './rate-limit.headers';
import type { Decision } from './rate-limit.store';

/** The 429 of a decision that is no admission. */
export function tooManyRequests(decision: Decision): ApiError {
  const { now, windows, bannedUntil } = decision;
  if (bannedUntil !== undefined) {
    const message = 'The API key is banned for a while, because it did not heed Retry-After.';
    return refusal('api_key_banned', message, now, bannedUntil);
  }
  const usage = exhausted(windows);
  return usage === windows.day
    ? refusal('daily_quota_exceeded', 'The requests of this day are used up.', now, usage.resetAt)
    : refusal('rate_limit_exceeded', 'The requests of this minute are used up.', now, usage.resetAt);
}

function refusal(code: ErrorCode, message: string, now: number, until: number): ApiError {
  const seconds = retryAfterSeconds(now, until);
  return new ApiError(code, {
    message: `${message} Try again in ${seconds} s, and back off exponentially.`,
    headers: { 'Retry-After': String(seconds) },
  });
}
