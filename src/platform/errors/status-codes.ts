import { STATUS_CODES } from 'node:http';

/** A `code` named after its status, for an error that has no row in the table of codes. */
export interface StatusCode {
  readonly code: string;
  readonly status: number;
  /** The reason phrase, for an error without a message. */
  readonly message: string;
}

export function isClientError(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 500;
}

/**
 * Returns the code of a client error: the reason phrase in snake case, or `client_error` if the status is unassigned.
 * Some of these codes are also in the table of codes, with the same status.
 */
export function codeOfStatus(status: number): StatusCode {
  const message = STATUS_CODES[status] ?? 'Client Error';
  return { code: message.replaceAll("'", '').replaceAll(/\W+/g, '_').toLowerCase(), status, message };
}
