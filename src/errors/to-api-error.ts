import { HttpException } from '@nestjs/common';
import { isDatabaseUnavailable } from '../database/database-errors';
import { ApiError } from './api-error';
import { internalError, malformedRequest, routeNotFound, serviceUnavailable } from './http.errors';

/** Errors that Fastify itself raises while it reads a request, by their code. */
const FRAMEWORK_ERRORS: Readonly<Record<string, () => ApiError>> = {
  FST_ERR_BAD_URL: malformedRequest,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: malformedRequest,
  FST_ERR_NOT_FOUND: routeNotFound,
};

/**
 * What the client is told of anything that was thrown.
 * Only what the service itself raised speaks for itself; the rest has a fixed message (its cause is logged).
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isDatabaseUnavailable(error)) return serviceUnavailable();
  if (error instanceof HttpException && error.getStatus() === 404) return routeNotFound();
  const known = FRAMEWORK_ERRORS[codeOf(error)];
  return known ? known() : internalError();
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
