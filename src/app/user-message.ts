import { types } from 'node:util';
import { isDatabaseUnavailable } from '../database/database-errors';
import { ApiError } from '../api/errors/api-error';
import { codeOf, UserError } from '../config/user-error';

/** Explains an error to the operator in one sentence; an unexpected error keeps its stack trace. */
export function userMessage(error: unknown): string {
  if (error instanceof UserError || error instanceof ApiError) return error.message;
  if (!types.isNativeError(error)) return String(error);
  if ('path' in error && 'syscall' in error)
    return `The file ${String(error.path)} cannot be read: correct its name, or let this user read it.`;
  // Only errors of PostgreSQL have a severity.
  if (isDatabaseUnavailable(error) || 'severity' in error)
    return `The database cannot be used (${error.message || codeOf(error)}): check DATABASE_URL, its server, and the rights of its user.`;
  return error.stack ?? error.message;
}
