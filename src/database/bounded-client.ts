import { Client, type ClientConfig, type QueryArrayConfig } from 'pg';

/** The text of node-postgres 8.x. */
const READ_TIMEOUT = 'Query read timeout';

/**
 * A connection that neither ends the process nor goes back into the pool in an unknown state.
 *
 * Between the pool and TypeORM it has no listener for a moment, and an error without one would end the process. And
 * after a query that was given up node-postgres keeps the connection, although the server may still be at work in it:
 * the next user would wait behind that query or, worse, work inside its transaction. A connection that is ended is
 * dropped by the pool.
 */
export class BoundedClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }

  // One face for the many overloads of `query`: what goes in goes on, what comes out is looked at.
  override query(...parameters: readonly unknown[]): never {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const result: unknown = super.query(...(parameters as [QueryArrayConfig]));
    if (result instanceof Promise) {
      result.catch((error: unknown) => {
        if (error instanceof Error && error.message === READ_TIMEOUT) void this.end().catch(() => undefined);
      });
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return result as never;
  }
}
