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

/** SQLSTATE codes and classes of the same, if the server writes its severities in another language. */
const SESSION_ENDED_STATE = /^(08|57P|25P0[34])/;

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Failures of the socket to the server; while it is being connected, every failure is one. */
const UNAVAILABLE_SYSTEM_ERRORS = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** node-postgres raises these, without any code, for a query that it did not send; as all of these, from pg 8.x. */
const UNSENT_MESSAGES = [
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
];

/** The same, and pg-pool, where a connection cannot be had or does not answer. */
const UNAVAILABLE_MESSAGES = [
  ...UNSENT_MESSAGES,
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Connection terminated',
  'Query read timeout',
  'Cannot use a pool after calling end on the pool',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
];

/** The session ended while nothing was asked of it, between two statements of a transaction. */
const SESSION_LOST = [QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError];

/** A change was sent, and the connection lost before the answer came: it may be done or not. */
export class OutcomeUnknownError extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message);
  }
}

/** True when a query failed because the server, a connection or a lock could not be had in time. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError || SESSION_LOST.some((type) => error instanceof type)) return true;
  const { code, severity, syscall, message } = factsOf(error);
  if (syscall === 'connect' || UNAVAILABLE_SYSTEM_ERRORS.has(code)) return true;
  if (isSessionEnded(code, severity)) return true;
  if (SQLSTATE.test(code)) return UNAVAILABLE_STATES.some((state) => code.startsWith(state));
  return UNAVAILABLE_MESSAGES.some((beginning) => message.startsWith(beginning));
}

/** True where a statement was sent and the server did not say what became of it. */
export function isAnswerLost(error: unknown): error is QueryFailedError {
  // What TypeORM does not wrap did not come to the statement.
  if (!(error instanceof QueryFailedError)) return false;
  const { code, severity, message } = factsOf(error);
  if (SQLSTATE.test(code)) return isSessionEnded(code, severity);
  return !UNSENT_MESSAGES.includes(message);
}

function isSessionEnded(code: string, severity: string): boolean {
  return SESSION_ENDED.has(severity) || SESSION_ENDED_STATE.test(code);
}

interface Facts {
  readonly code: string;
  readonly severity: string;
  readonly syscall: string;
  readonly message: string;
}

/** What Node.js and the server say of a failure; empty what they do not. */
function factsOf(error: unknown): Facts {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  const facts: Partial<Record<keyof Facts, unknown>> =
    typeof cause === 'object' && cause !== null ? cause : {};
  const { code = '', severity = '', syscall = '', message = '' } = facts;
  return {
    code: String(code),
    severity: String(severity),
    syscall: String(syscall),
    message: String(message),
  };
}
