import { ApiError } from '../errors/api-error';

const RETRY_AFTER_SECONDS = 1;

export function idempotencyKeyInUse(): ApiError {
  return new ApiError('idempotency_key_in_use', { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}

export function idempotencyKeyReused(): ApiError {
  return new ApiError('idempotency_key_reused');
}
