import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';

/**
 * SQLSTATE codes and classes that mean "not now" rather than "not so"
 * (PostgreSQL documentation, appendix A): the same request may succeed later.
 */
const UNAVAILABLE_STATES = [
  '08', // connection exception
  '26000', // a prepared statement that is not there: a pooler without them, see DATABASE_PREPARED_STATEMENTS
  '42P05', // and one that is there already
  '25006', // read-only transaction: a standby, or a server being switched over
  '40', // rolled back: serialization failure, deadlock
  '53', // insufficient resources: connections, memory, disk
  '55P03', // lock not available in time
  '57', // operator intervention: shutdown, cancelled by timeout, starting up
  '58', // system error outside PostgreSQL: I/O
];

/** Severities with which the server ends, or refuses, the whole session, whatever the code. */
const SESSION_ENDED = new Set(['FATAL', 'PANIC']);

/** Failures of the socket to the server. */
const UNAVAILABLE_SYSTEM_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** node-postgres raises these without any code; the texts are those of pg and pg-pool 8.x. */
const UNAVAILABLE_MESSAGES = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Query read timeout',
  'Cannot use a pool after calling end on the pool',
];

/** True when a query failed because the server, a connection or a lock could not be had in time. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(cause instanceof Error)) return false;
  if (isLostSession(cause)) return true;
  const code = 'code' in cause ? String(cause.code) : '';
  if (UNAVAILABLE_SYSTEM_ERRORS.has(code) || isMissingSocket(cause, code)) return true;
  if ('severity' in cause && SESSION_ENDED.has(String(cause.severity))) return true;
  if (/^[0-9A-Z]{5}$/.test(code)) return UNAVAILABLE_STATES.some((state) => code.startsWith(state));
  return UNAVAILABLE_MESSAGES.some((message) => cause.message.startsWith(message));
}

/** The session of a transaction ended between two of its statements: TypeORM lets go of it before the next one. */
function isLostSession(cause: Error): boolean {
  return (
    cause instanceof QueryRunnerAlreadyReleasedError ||
    cause instanceof QueryRunnerProviderAlreadyReleasedError
  );
}

/** The embedded server's Unix socket is gone. ENOENT alone could be any file. */
function isMissingSocket(cause: Error, code: string): boolean {
  return code === 'ENOENT' && 'syscall' in cause && cause.syscall === 'connect';
}
