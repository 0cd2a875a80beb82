import type { ApiError } from '../../api/errors/api-error';
import { BEARER_CHALLENGE, commonErrors } from '../../api/errors/common.errors';

export const {
  missing_api_key: missingApiKey,
  invalid_api_key: invalidApiKey,
  expired_api_key: expiredApiKey,
  revoked_api_key: revokedApiKey,
} = commonErrors;

/** @param scopes the key needs one of them */
export function insufficientScope(...scopes: readonly string[]): ApiError {
  const scope = scopes.join(' ');
  return commonErrors.insufficient_scope({
    message: `The API key lacks the scope ${scopes.join(' or ')}.`,
    headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
