import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { codeOf, UserError } from '../config/user-error';

/** SQLSTATE code of a read-only session: after a failover the old server may keep its sessions. */
const READ_ONLY = '25006';

/** SQLSTATE codes of a session with other prepared statements, because a pooler without them has switched it. */
const SWITCHED = /^(26000|42P05)$/;

/**
 * SQLSTATE codes and classes of temporary failures: the same request may succeed later
 * (PostgreSQL documentation, appendix A).
 */
const UNAVAILABLE_STATES = [
  '42501', // a right is missing, until the operator grants it
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

const SOCKET_ERROR = /^(ECONN\w+|EHOSTUNREACH|ENET\w+|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT)$/;

/** Messages, without a code, for a query that node-postgres 8 did not send. */
const UNSENT = /^Client (has encountered a connection error|was closed) and is not queryable$/;

const IS_UNAVAILABLE = Symbol('unavailable');

/** Marks an error of `connect`, such as an expired certificate, or of a check: the database is unavailable. */
export function asUnavailable(error: unknown): Error {
  return Object.assign(Object(error), { [IS_UNAVAILABLE]: true });
}

/** Message of node-postgres 8, without a code, if a query exceeds `query_timeout`. */
const QUERY_TIMEOUT = 'Query read timeout';

/** Makes the error of a statement that was not sent, because others took too long. */
export const waitTimeout = (): Error => new Error('timeout exceeded while waiting for other statements');

/** Messages of this service, node-postgres and pg-pool if a statement was not sent, or a connection was lost. */
const UNAVAILABLE_MESSAGE =
  /^(timeout (exceeded|expired)|The pooler|Query read timeout|Connection terminated|Cannot use a pool after|.* SSL connection)/;

/** The connection was lost after a change was sent: it may or may not have taken effect. */
export class OutcomeUnknownError extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message);
  }
}

/** The key of a change was revoked while its request was under way. */
export class RevokedKeyError extends Error {}

/** Returns true if a query failed because the server, a connection or a lock was not available in time. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError || IS_UNAVAILABLE in Object(error)) return true;
  // The session has ended between two statements of a transaction.
  if (error instanceof QueryRunnerAlreadyReleasedError) return true;
  if (error instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  const [fault, code] = [connectionFault(error), codeOf(error)];
  if (fault === undefined) return UNAVAILABLE_STATES.some((state) => code.startsWith(state));
  // An error of this program has no SQLSTATE, too.
  if (fault !== 'lost' || isSessionEnded(error) || SOCKET_ERROR.test(code)) return true;
  return UNAVAILABLE_MESSAGE.test(messageOf(error));
}

/**
 * Returns what is wrong with the connection of a failed query; undefined if only the query is wrong.
 *
 * `late` and `lost`: no result has arrived; `unsent`: it was not sent. `readOnly` and `switched`: the session is another
 * one than the query needs.
 */
export function connectionFault(error: unknown) {
  const [code, message] = [codeOf(error), messageOf(error)];
  if (message === QUERY_TIMEOUT) return 'late';
  // EPIPE has the form of an SQLSTATE.
  const isOfServer = /^[0-9A-Z]{5}$/.test(code) && !SOCKET_ERROR.test(code);
  if (!isOfServer || isSessionEnded(error)) return UNSENT.test(message) ? 'unsent' : 'lost';
  if (code === READ_ONLY) return 'readOnly';
  return SWITCHED.test(code) ? 'switched' : undefined;
}

/**
 * Returns true if no other query must use the connection. After a timeout node-postgres leaves the query running, and
 * the next one waits for it; if the server has disappeared, until TCP gives up.
 */
export function isUnusable(error: unknown): boolean {
  return ['late', 'readOnly', 'switched'].includes(connectionFault(error) ?? '');
}

function isSessionEnded(error: unknown): boolean {
  const { severity }: { readonly severity?: unknown } = Object(error);
  return (
    (typeof severity === 'string' && SESSION_ENDED.test(severity)) || SESSION_ENDED_STATE.test(codeOf(error))
  );
}

function messageOf(error: unknown): string {
  const { message }: { readonly message?: unknown } = Object(error);
  return typeof message === 'string' ? message : '';
}

/** The fix if `session_replication_role` is `replica`. Only a superuser may change it. */
const RESET_REPLICA = 'ALTER ROLE and ALTER DATABASE … RESET session_replication_role';

/** Explains that triggers do not fire. @param fixes null for that of `session_replication_role` */
export function unfired(fixes: readonly (string | null)[]): UserError {
  const fault = 'The database confirms changes without their events or checks.';
  return new UserError(`${fault} As a superuser run ${fixes.map((fix) => fix ?? RESET_REPLICA).join('; ')}.`);
}
