import { connect, type Socket } from 'node:net';
import { Client, type ClientConfig, type QueryResult } from 'pg';

/** The length of a CancelRequest message, and the code in the place of a protocol version. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_TIMEOUT_MS = 2_000;

/** The message of node-postgres, without a code, if a query exceeds `query_timeout`. */
const QUERY_TIMEOUT_MESSAGE = 'Query read timeout';

/** SQLSTATE of a write in a read-only session: the server is a standby, or configured as read-only. */
const READ_ONLY_STATE = '25006';

/** The text that TypeORM sends. */
export const COMMIT = 'COMMIT';

/** SQLSTATE of a transaction in which a statement has failed. */
const FAILED_TRANSACTION_STATE = '25P02';

/**
 * A connection that reports a commit that was a rollback. It closes itself, so that the pool removes it, in two cases:
 *
 * - A query times out. node-postgres leaves the query running, and the next query on the connection waits for it. If
 *   the server has disappeared, that lasts until TCP gives up.
 * - The session is read-only. After a failover the old server may keep its sessions open.
 *
 * It prepares a statement that the server has rejected under another name. PgBouncer notes a name before the server
 * responds, and rejects the second use; node-postgres forgets it.
 */
export class BoundedClient extends Client {
  /** The server's id of this session; null until connected. The types of node-postgres lack the three. */
  declare readonly processID: number | null;
  declare readonly secretKey: number | null;
  declare readonly connection: Client['connection'] & {
    readonly stream: Socket;
    readonly parsedStatements: Readonly<Record<string, string>>;
  };

  /** The names of the statements that the server has rejected under their own. */
  private readonly otherNames = new Map<string, string>();
  private rejections = 0;

  constructor(config?: string | ClientConfig) {
    super(config);
    // The pool has no listener during a checkout, and an unhandled `error` event ends the process.
    this.on('error', () => undefined);
    const query = (...input: unknown[]): unknown => {
      // Passes the arguments of any overload on.
      // oxlint-disable-next-line typescript/unbound-method
      const result: unknown = Reflect.apply(super.query, this, this.rename(input));
      if (!(result instanceof Promise)) return result;
      const bounded = result.catch((error: unknown) => {
        this.noteRejection(input);
        return this.closeIfUnusable(error);
      });
      return input[0] === COMMIT ? bounded.then(requireCommit) : bounded;
    };
    // The overloads stay the same: arguments and results are passed on.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.query = query as Client['query'];
  }

  private rename(input: unknown[]): unknown[] {
    const [query, ...others] = input;
    if (this.otherNames.size === 0 || !isNamed(query)) return input;
    // A query may inherit its properties: sql.ts.
    const renamed = Object.assign(Object.create(query), {
      name: this.otherNames.get(query.name) ?? query.name,
    });
    return [renamed, ...others];
  }

  private noteRejection([query]: unknown[]): void {
    if (!isNamed(query)) return;
    const name = this.otherNames.get(query.name) ?? query.name;
    if (name in this.connection.parsedStatements) return;
    this.rejections += 1;
    this.otherNames.set(query.name, `${query.name} ${this.rejections}`);
  }

  /** Runs before the caller receives the error, so before the pool receives the connection. */
  private closeIfUnusable(error: unknown): never {
    const isTimeout = isQueryTimeout(error);
    if (isTimeout) this.cancel();
    if (isTimeout || isReadOnly(error)) void this.end();
    throw error;
  }

  /**
   * Asks the server to cancel the query of this session. Closing the connection is not enough: a session that works or
   * waits for a lock does not notice it. The server closes the connection of the request without a reply
   * (PostgreSQL documentation, "Canceling Requests in Progress").
   */
  cancel(): void {
    if (this.processID === null || this.secretKey === null) return;
    const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
    request.writeInt32BE(CANCEL_REQUEST_BYTES, 0);
    request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
    request.writeInt32BE(this.processID, 8);
    request.writeInt32BE(this.secretKey, 12);
    const { host, port } = this;
    const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
    // If the server cannot be reached, its own timeout, which is shorter, ends the query.
    socket.on('error', () => undefined);
    socket.end(request);
  }
}

/** The server reports ROLLBACK, and no error, for the COMMIT of a transaction in which a statement has failed. */
function requireCommit<Result extends QueryResult>(result: Result): Result {
  if (result.command === COMMIT) return result;
  const message =
    'The transaction was rolled back, because a statement in it has failed and its error was ignored.';
  throw Object.assign(new Error(message), { code: FAILED_TRANSACTION_STATE });
}

/** Returns the error of a query that exceeded its time, as node-postgres reports it. */
export function queryTimeout(): Error {
  return new Error(QUERY_TIMEOUT_MESSAGE);
}

function isNamed(query: unknown): query is { readonly name: string } {
  return typeof query === 'object' && query !== null && 'name' in query && typeof query.name === 'string';
}

/** True if a query exceeded `query_timeout`. */
export function isQueryTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE;
}

/** True if a change was sent in a read-only session. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === READ_ONLY_STATE;
}
