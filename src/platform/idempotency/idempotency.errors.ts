import type { ApiError } from '../errors/api-error';
import { platformErrors } from '../errors/platform.errors';

const RETRY_AFTER_SECONDS = 1;

export function idempotencyKeyInUse(): ApiError {
  return platformErrors.idempotency_key_in_use({ headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}

export function idempotencyKeyReused(): ApiError {
  return platformErrors.idempotency_key_reused();
}
