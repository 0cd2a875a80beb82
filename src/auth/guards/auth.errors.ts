import type { ApiError } from '../../api/errors/api-error';
import type { KeyPrefix } from '../keys/secret';
import { BEARER_CHALLENGE, invalidToken, commonErrors } from '../../api/errors/common.errors';

export const {
  missing_api_key: missingApiKey,
  invalid_api_key: invalidApiKey,
  expired_api_key: expiredApiKey,
  revoked_api_key: revokedApiKey,
} = commonErrors;

function invalidWith(message: string, create = invalidApiKey): ApiError {
  return create({ message, headers: { 'WWW-Authenticate': invalidToken(message) } });
}

const TWICE = invalidWith('The word Bearer is sent twice: send it once, before the API key.');
const MISTYPED = invalidWith('The API key was mistyped or cut: its checksum is wrong. Copy it again.');

/** For a text that is not a key of any deployment. */
export function malformedApiKey(secret: string): ApiError {
  if (/^bearer(?:\s|$)/i.test(secret)) return TWICE;
  return /ask_(?:live|test)_/i.test(secret) ? MISTYPED : invalidApiKey();
}

/** For a secret that a rotation has replaced, after its grace period. */
export const ROTATED_OUT = invalidWith(
  'The API key was replaced by a rotation and its grace period has ended.',
  revokedApiKey,
);

/** For a key of production in another deployment, and the reverse. @param prefix of the keys of this deployment */
export function foreignApiKey(prefix: KeyPrefix): ApiError {
  return invalidWith(`The API key is of another deployment. Keys of this one begin with ${prefix}.`);
}

/** @param scopes the key needs one of them */
export function insufficientScope(...scopes: readonly string[]): ApiError {
  const scope = scopes.join(' ');
  return commonErrors.insufficient_scope({
    message: `The API key lacks the scope ${scopes.join(' or ')}.`,
    headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
