import { HttpException } from '@nestjs/common';
import { isDatabaseUnavailable, OutcomeUnknownError } from '../database/database-errors';
import { ApiError } from '../errors/api-error';
import { internalError, outcomeUnknown, serviceUnavailable } from '../errors/http.errors';
import { fromNestException } from './nest-exception';

/**
 * Converts any thrown value into the error that the client sees. Errors of the service and Nest's exceptions keep their
 * message; all others get a fixed message.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof HttpException) return fromNestException(error);
  if (error instanceof OutcomeUnknownError) return outcomeUnknown();
  return isDatabaseUnavailable(error) ? serviceUnavailable() : internalError();
}
