import { ApiError } from '../errors/api-error';

/** The challenge of RFC 6750, section 3. */
const CHALLENGE = 'Bearer realm="animal-store"';

export function missingApiKey(): ApiError {
  return new ApiError(
    401,
    'missing_api_key',
    'Send your API key in the header "Authorization: Bearer <API_KEY>".',
    { 'WWW-Authenticate': CHALLENGE },
  );
}

export function invalidApiKey(): ApiError {
  return refusedKey('invalid_api_key', 'The API key is not valid.');
}

export function expiredApiKey(): ApiError {
  return refusedKey('expired_api_key', 'The API key has expired.');
}

export function revokedApiKey(): ApiError {
  return refusedKey('revoked_api_key', 'The API key was revoked.');
}

/** A secret that was replaced, and whose grace has ended. */
export function rotatedOutApiKey(): ApiError {
  return refusedKey('revoked_api_key', 'The API key was replaced by a rotation and its grace has ended.');
}

export function insufficientScope(scope: string): ApiError {
  return new ApiError(403, 'insufficient_scope', `The API key lacks the scope ${scope}.`, {
    'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  });
}

/** A route that says neither that it is public nor which scope it needs answers nobody. */
export function undeclaredScope(): ApiError {
  return new ApiError(403, 'insufficient_scope', 'This address is not open to API keys.', {
    'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope"`,
  });
}

function refusedKey(code: string, message: string): ApiError {
  return new ApiError(401, code, message, {
    'WWW-Authenticate': `${CHALLENGE}, error="invalid_token", error_description="${message}"`,
  });
}
