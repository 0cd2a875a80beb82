import type { QueryConfig } from 'pg';
import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';

/** SQLSTATE codes of a session with other prepared statements: a pooler without them has switched it. */
const STATEMENT_LOST = /^(26000|42P05)$/;

/**
 * SQLSTATE codes and classes of temporary failures: the same request may succeed later
 * (PostgreSQL documentation, appendix A).
 */
const UNAVAILABLE_STATES = [
  '25006', // read-only transaction: a standby, or a server being switched over
  '40', // rolled back: serialization failure, deadlock
  '53', // insufficient resources: connections, memory, disk
  '55P03', // lock not available in time
  '57', // operator intervention: shutdown, cancelled by timeout, starting up
  '58', // system error outside PostgreSQL: I/O
];

/** Severities with which the server ends or rejects the session, with any code. */
const SESSION_ENDED = /^(FATAL|PANIC)$/;

/** SQLSTATE codes and classes of an ended session, for servers that translate the severities. */
const SESSION_ENDED_STATE = /^(08|57P|25P0[34])/;

/** Errors of the socket to the server. During `connect` every error counts. */
const SOCKET_ERROR = /^(ECONN\w+|EHOSTUNREACH|ENET\w+|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT)$/;

/** Messages of node-postgres 8, without a code, for a query that it did not send. */
const UNSENT = /^Client (has encountered a connection error|was closed) and is not queryable$/;

/** The message for a statement that was not sent, because others took too long. */
export const WAIT_TIMEOUT_MESSAGE = 'timeout exceeded while waiting for other statements';

/** Messages of this service, node-postgres and pg-pool if a connection cannot be opened or does not respond. */
const UNAVAILABLE_MESSAGES = [
  WAIT_TIMEOUT_MESSAGE,
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Connection terminated',
  'Query read timeout',
  'Cannot use a pool after calling end on the pool',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
];

/** TypeORM's errors if the session ends between two statements of a transaction. */
const SESSION_LOST = [QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError];

/** The connection was lost after a change was sent: it may or may not have taken effect. */
export class OutcomeUnknownError extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message);
  }
}

/** Statements without a change: if their result is lost, the request can be retried. */
const READS = /^\s*SELECT\b/;

/** Returns the error of a single statement that was sent, from the error of node-postgres. */
export function failureOf(query: QueryConfig, parameters: unknown[], error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const failure = new QueryFailedError(query.text, parameters, error);
  return !READS.test(query.text) && isResultLost(failure) ? new OutcomeUnknownError(failure) : failure;
}

/** Returns true if a query failed because the server, a connection or a lock was not available in time. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError || SESSION_LOST.some((type) => error instanceof type)) return true;
  const { code, syscall, message } = factsOf(error);
  if (syscall === 'connect' || SOCKET_ERROR.test(code) || isSessionEnded(error)) return true;
  if (isSqlState(code)) {
    return STATEMENT_LOST.test(code) || UNAVAILABLE_STATES.some((state) => code.startsWith(state));
  }
  return UNSENT.test(message) || UNAVAILABLE_MESSAGES.some((beginning) => message.startsWith(beginning));
}

/** Returns true if the connection of a query is lost, whether or not the query was sent. */
export function isConnectionLost(error: unknown): boolean {
  return isSqlState(factsOf(error).code) ? isSessionEnded(error) : isDatabaseUnavailable(error);
}

/** Returns true if the session does not have the prepared statements of its connection: it must be closed. */
export function isStatementLost(error: unknown): boolean {
  return STATEMENT_LOST.test(factsOf(error).code);
}

/** Returns true if a statement was sent and the connection was lost before its result arrived. */
export function isResultLost(error: unknown): error is QueryFailedError {
  // TypeORM wraps every error of a statement; other errors occurred before it.
  if (!(error instanceof QueryFailedError)) return false;
  const { code, message } = factsOf(error);
  return isSqlState(code) ? isSessionEnded(error) : !UNSENT.test(message);
}

/** Returns true if a foreign key of another table kept a row from being deleted, by its own action or by RESTRICT. */
export function isStillReferenced(error: unknown): boolean {
  return error instanceof QueryFailedError && /^(23503|23001)$/.test(factsOf(error).code);
}

/** EPIPE has the form of an SQLSTATE. */
function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !SOCKET_ERROR.test(code);
}

function isSessionEnded(error: unknown): boolean {
  const { code, severity } = factsOf(error);
  return SESSION_ENDED.test(severity) || SESSION_ENDED_STATE.test(code);
}

/** Reads the properties of an error of Node.js or the server; missing ones are empty. */
function factsOf(error: unknown): Record<'code' | 'severity' | 'syscall' | 'message', string> {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  const {
    code = '',
    severity = '',
    syscall = '',
    message = '',
  }: Readonly<Record<string, unknown>> = Object(cause);
  return {
    code: String(code),
    severity: String(severity),
    syscall: String(syscall),
    message: String(message),
  };
}
