import type { ApiError } from '../platform/errors/api-error';
import { BEARER_CHALLENGE } from '../platform/errors/http.errors';
import { platformErrors } from '../platform/errors/platform.errors';

/** Created once, because clients without a valid key may send many requests. Frozen, because requests share them. */
const MISSING = Object.freeze(
  platformErrors.missing_api_key({ headers: { 'WWW-Authenticate': BEARER_CHALLENGE } }),
);
const INVALID = Object.freeze(invalidToken('invalid_api_key'));
const EXPIRED = Object.freeze(invalidToken('expired_api_key'));
const REVOKED = Object.freeze(invalidToken('revoked_api_key'));

export function missingApiKey(): ApiError {
  return MISSING;
}

export function invalidApiKey(): ApiError {
  return INVALID;
}

export function expiredApiKey(): ApiError {
  return EXPIRED;
}

export function revokedApiKey(): ApiError {
  return REVOKED;
}

/** For a secret that a rotation has replaced, after its grace period. */
export function rotatedOutApiKey(): ApiError {
  return invalidToken(
    'revoked_api_key',
    'The API key was replaced by a rotation and its grace period has ended.',
  );
}

/** @param scopes the key needs one of them */
export function insufficientScope(...scopes: readonly string[]): ApiError {
  const scope = scopes.join(' ');
  return platformErrors.insufficient_scope({
    message: `The API key lacks the scope ${scopes.join(' or ')}.`,
    headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}

function invalidToken(
  code: 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key',
  message: string = platformErrors[code].example,
): ApiError {
  return platformErrors[code]({
    message,
    headers: {
      'WWW-Authenticate': `${BEARER_CHALLENGE}, error="invalid_token", error_description="${message}"`,
    },
  });
}
