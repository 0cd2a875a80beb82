import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config';
import { BoundedClient } from './bounded-client';

export type DatabaseConfig = Pick<Config, 'databasePoolSize' | 'databasePoolWaitMs'> & {
  readonly databaseUrl: string;
};

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
    poolSize: config.databasePoolSize,
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
