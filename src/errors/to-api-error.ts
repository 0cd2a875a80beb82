import { HttpException } from '@nestjs/common';
import { isDatabaseUnavailable, OutcomeUnknownError } from '../database/database-errors';
import { ApiError } from './api-error';
import {
  internalError,
  JSON_ONLY,
  malformedRequest,
  outcomeUnknown,
  routeNotFound,
  serviceUnavailable,
  unsupportedMediaType,
} from './http.errors';

/**
 * What the client is told of anything that was thrown.
 * Only what the service itself raised speaks for itself; the rest has a fixed message (its cause is logged).
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof OutcomeUnknownError) return outcomeUnknown();
  if (isDatabaseUnavailable(error)) return serviceUnavailable();
  return (error instanceof HttpException && fromFramework(error)) || internalError();
}

/** What Nest and Fastify refuse on their own while they read a request; Nest wraps Fastify's errors in its own. */
function fromFramework(error: HttpException): ApiError | undefined {
  const status = error.getStatus();
  if (status === 404) return routeNotFound();
  if (status === 415) return unsupportedMediaType(JSON_ONLY);
  return status < 500 ? malformedRequest() : undefined;
}
