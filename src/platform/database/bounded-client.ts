import { Client, type ClientConfig, type QueryResult } from 'pg';
import { isStatementLost } from './database-errors';

/** The message of node-postgres, without a code, if a query exceeds `query_timeout`. */
const QUERY_TIMEOUT_MESSAGE = 'Query read timeout';

/** SQLSTATE of a write in a read-only session: the server is a standby, or configured as read-only. */
const READ_ONLY_STATE = '25006';

/** The text that TypeORM sends. */
export const COMMIT = 'COMMIT';

/** SQLSTATE of a transaction in which a statement has failed. */
const FAILED_TRANSACTION_STATE = '25P02';

/**
 * A connection that reports a commit that was a rollback. It closes itself, so that the pool removes it, in three cases:
 *
 * - A query times out. node-postgres leaves the query running, and the next query on the connection waits for it. If
 *   the server has disappeared, that lasts until TCP gives up.
 * - The session is read-only. After a failover the old server may keep its sessions open.
 * - The session has other prepared statements than node-postgres knows. PgBouncer keeps the name of a rejected one.
 */
export class BoundedClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    // The pool has no listener during a checkout, and an unhandled `error` event ends the process.
    this.on('error', () => undefined);
    const query = (...input: unknown[]): unknown => {
      // Passes the arguments of any overload on.
      // oxlint-disable-next-line typescript/unbound-method
      const result: unknown = Reflect.apply(super.query, this, input);
      if (!(result instanceof Promise)) return result;
      // Runs before the caller gets the error, and so before the pool gets the connection.
      const bounded = result.catch((error: unknown) => {
        if (isQueryTimeout(error) || isReadOnly(error) || isStatementLost(error)) void this.end();
        throw error;
      });
      return input[0] === COMMIT ? bounded.then(requireCommit) : bounded;
    };
    // The overloads stay the same: arguments and results are passed on.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.query = query as Client['query'];
  }
}

/** The server reports ROLLBACK, and no error, for the COMMIT of a transaction in which a statement has failed. */
function requireCommit<Result extends QueryResult>(result: Result): Result {
  if (result.command === COMMIT) return result;
  const message =
    'The transaction was rolled back, because a statement in it has failed and its error was ignored.';
  throw Object.assign(new Error(message), { code: FAILED_TRANSACTION_STATE });
}

/** True if a query exceeded `query_timeout`. */
export function isQueryTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE;
}

/** True if a change was sent in a read-only session. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === READ_ONLY_STATE;
}
