import type { ApiError } from '../platform/errors/api-error';
import type { KeyPrefix } from '../accounts';
import { BEARER_CHALLENGE, invalidToken, platformErrors } from '../platform/errors/platform.errors';

export const {
  missing_api_key: missingApiKey,
  invalid_api_key: invalidApiKey,
  expired_api_key: expiredApiKey,
  revoked_api_key: revokedApiKey,
} = platformErrors;

/** For a secret that a rotation has replaced, after its grace period. */
export function rotatedOutApiKey(): ApiError {
  const message = 'The API key was replaced by a rotation and its grace period has ended.';
  return revokedApiKey({ message, headers: { 'WWW-Authenticate': invalidToken(message) } });
}

/** For a key of production in another deployment, and the reverse. @param prefix of the keys of this deployment */
export function foreignApiKey(prefix: KeyPrefix): ApiError {
  const message = `The API key is of another deployment. Keys of this one begin with ${prefix}.`;
  return invalidApiKey({ message, headers: { 'WWW-Authenticate': invalidToken(message) } });
}

/** @param scopes the key needs one of them */
export function insufficientScope(...scopes: readonly string[]): ApiError {
  const scope = scopes.join(' ');
  return platformErrors.insufficient_scope({
    message: `The API key lacks the scope ${scopes.join(' or ')}.`,
    headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
