import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config';
import { BoundedClient } from './bounded-client';

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
export function connectionsOf(config: Omit<DatabaseConfig, 'databaseUrl' | 'databasePoolWaitMs'>): {
  readonly pool: number;
  readonly pipelined: number;
} {
  const { databasePipelining, databasePoolSize, databasePreparedStatements } = config;
  const isOn = databasePipelining && databasePreparedStatements;
  const pipelined = isOn ? Math.min(MAX_PIPELINED, Math.floor(databasePoolSize / 3)) : 0;
  return { pool: databasePoolSize - pipelined, pipelined };
}
