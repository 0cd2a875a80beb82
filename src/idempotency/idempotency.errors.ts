import { ApiError } from '../errors/api-error';

const RETRY_AFTER_SECONDS = 1;

export function idempotencyKeyInUse(): ApiError {
  return new ApiError(
    409,
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still running: send this one again later.',
    { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  );
}

export function idempotencyKeyReused(): ApiError {
  return new ApiError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key was used with another body: a new request needs a new key.',
  );
}
