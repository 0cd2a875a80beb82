import { HttpException } from '@nestjs/common';
import { isDatabaseUnavailable, OutcomeUnknownError } from '../database/database-errors';
import { ApiError } from './api-error';
import { internalError, outcomeUnknown, serviceUnavailable } from './http.errors';
import { fromNestException } from './nest-exception';

/**
 * Turns anything that was thrown into what the client is told.
 * Errors of the service and Nest's exceptions keep their message; the rest has a fixed one, and its cause is logged.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof HttpException) return fromNestException(error);
  if (error instanceof OutcomeUnknownError) return outcomeUnknown();
  return isDatabaseUnavailable(error) ? serviceUnavailable() : internalError();
}
