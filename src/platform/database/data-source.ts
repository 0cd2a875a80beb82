import { Client, type ClientConfig, type QueryResult } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config';
import { isUnusable } from './database-errors';

export type DatabaseConfig = Pick<
  Config,
  'databasePipelining' | 'databasePoolSize' | 'databasePoolWaitMs' | 'databasePreparedStatements'
> & { readonly databaseUrl: string };

/** More do not serve more requests: each keeps one process of the server busy. */
const MAX_PIPELINED = 4;

/** Longest run time of one statement in the server. The client times out a second later, if the server hangs. */
export const STATEMENT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1_000;
const IDLE_CONNECTION_TIMEOUT_MS = 30_000;

/** The text that TypeORM sends. */
export const COMMIT = 'COMMIT';

/** Returns TypeORM's options: one pool, a bound for every wait, and no setting that a pooler rejects. */
export function dataSourceOptions(config: DatabaseConfig) {
  return {
    type: 'postgres',
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    installExtensions: false,
    poolSize: connectionsOf(config).pool,
    extra: {
      Client: BoundedClient,
      connectionString: config.databaseUrl,
      // Bounds the wait for a free connection, and the time to open one.
      connectionTimeoutMillis: config.databasePoolWaitMs,
      idleTimeoutMillis: IDLE_CONNECTION_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    },
  } as const satisfies DataSourceOptions;
}

/** Divides the connections of a process: a third of them are pipelined, the pool has the others. */
export function connectionsOf(config: Omit<DatabaseConfig, 'databaseUrl' | 'databasePoolWaitMs'>) {
  const { databasePipelining, databasePoolSize, databasePreparedStatements } = config;
  const isOn = databasePipelining && databasePreparedStatements;
  const pipelined = isOn ? Math.min(MAX_PIPELINED, Math.floor(databasePoolSize / 3)) : 0;
  return { pool: databasePoolSize - pipelined, pipelined };
}

/** A connection that closes itself when it is unusable, and reports a commit that was a rollback. */
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
        if (isUnusable(error)) void this.end();
        throw error;
      });
      return input[0] === COMMIT ? bounded.then(requireCommit) : bounded;
    };
    // The overloads stay the same: arguments and results are passed on.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.query = query as Client['query'];
  }
}

/**
 * The server reports ROLLBACK, and no error, for the COMMIT of a transaction in which a statement has failed. The code
 * is that of any other statement in it.
 */
function requireCommit<Result extends QueryResult>(result: Result): Result {
  if (result.command === COMMIT) return result;
  const message =
    'The transaction was rolled back, because a statement in it has failed and its error was ignored.';
  throw Object.assign(new Error(message), { code: '25P02' });
}
