import { connect } from 'node:net';
import { Client, type ClientConfig } from 'pg';

/** Of the message that asks the server to cancel: its length, and the code that tells it from a start of a session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_TIMEOUT_MS = 2_000;

/** node-postgres raises it without any code when an answer takes longer than `query_timeout`. */
const QUERY_TIMEOUT_MESSAGE = 'Query read timeout';

/** SQLSTATE of a write in a session that may only read: the server is a standby, or was told so. */
const READ_ONLY_STATE = '25006';

/**
 * A connection that ends itself where it can no longer serve, so that the pool gives it to nobody else:
 *
 * - when an answer does not come in time. node-postgres would leave the query running on it, and whatever is asked next
 *   would wait behind it; what hangs there may be a connection whose other end is gone, for as long as TCP believes in it.
 * - when it turns out to be read-only. After a switch to another server the old one may keep its sessions open.
 */
export class BoundedClient extends Client {
  /** How the server knows this session; null until it is connected. node-postgres has them, its types do not. */
  declare readonly processID: number | null;
  declare readonly secretKey: number | null;

  constructor(config?: string | ClientConfig) {
    super(config);
    // Between two owners nobody else listens, and an error that nobody hears ends the process.
    this.on('error', () => undefined);
    const bounded = (...input: unknown[]): unknown => {
      // Whatever its overload; `apply` gives it its `this` back.
      // oxlint-disable-next-line typescript/unbound-method
      const result: unknown = Reflect.apply(super.query, this, input);
      return result instanceof Promise ? result.catch((error: unknown) => this.judge(error)) : result;
    };
    // Its overloads stay as they are: it takes and gives the same.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.query = bounded as Client['query'];
  }

  /** Called before whoever asked hears of the error, and so before the connection is given back. */
  private judge(error: unknown): never {
    const isTimeout = error instanceof Error && error.message === QUERY_TIMEOUT_MESSAGE;
    if (isTimeout) this.cancel();
    if (isTimeout || isReadOnly(error)) void this.end();
    throw error;
  }

  /**
   * Asks the server to end what this session does; closing the connection alone would not: a session that works, or
   * waits for a lock, does not look at its connection. The answer is only that the server closes
   * (PostgreSQL documentation, "Canceling Requests in Progress").
   */
  private cancel(): void {
    if (this.processID === null || this.secretKey === null) return;
    const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
    request.writeInt32BE(CANCEL_REQUEST_BYTES, 0);
    request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
    request.writeInt32BE(this.processID, 8);
    request.writeInt32BE(this.secretKey, 12);
    const { host, port } = this;
    const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
    // A server that cannot be asked has ended the query, or will: its own limit is shorter.
    socket.on('error', () => undefined);
    socket.end(request);
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === READ_ONLY_STATE;
}
