import { ApiError } from '../errors/api-error';
import { ERROR_CODES } from '../errors/error-codes';
import { BEARER_CHALLENGE } from '../errors/http.errors';

export function missingApiKey(): ApiError {
  return new ApiError('missing_api_key', { headers: { 'WWW-Authenticate': BEARER_CHALLENGE } });
}

export function invalidApiKey(): ApiError {
  return refusedKey('invalid_api_key');
}

export function expiredApiKey(): ApiError {
  return refusedKey('expired_api_key');
}

export function revokedApiKey(): ApiError {
  return refusedKey('revoked_api_key');
}

/** A secret that was replaced, and whose grace has ended. */
export function rotatedOutApiKey(): ApiError {
  return refusedKey('revoked_api_key', 'The API key was replaced by a rotation and its grace has ended.');
}

export function insufficientScope(scope: string): ApiError {
  return new ApiError('insufficient_scope', {
    message: `The API key lacks the scope ${scope}.`,
    headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}

function refusedKey(
  code: 'invalid_api_key' | 'expired_api_key' | 'revoked_api_key',
  message: string = ERROR_CODES[code].message,
): ApiError {
  return new ApiError(code, {
    message,
    headers: {
      'WWW-Authenticate': `${BEARER_CHALLENGE}, error="invalid_token", error_description="${message}"`,
    },
  });
}
