import { QueryFailedError } from 'typeorm';

/** A row that others refer to was to be deleted: by the constraint's own action, or by RESTRICT. */
const STILL_REFERENCED = new Set(['23503', '23001']);

/** True if a foreign key of another table kept a row from being deleted. */
export function isStillReferenced(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const cause: { readonly code?: unknown } = error.driverError;
  return STILL_REFERENCED.has(String(cause.code));
}
