import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config';
import { BoundedClient } from './bounded-client';
import { migrations } from './migrations';

export type DatabaseConfig = Pick<Config, 'databasePoolSize' | 'databasePoolWaitMs'> & {
  readonly databaseUrl: string;
};

/** Longest that one statement may run, in the server; the client gives up a little later, should the server hang. */
export const STATEMENT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1_000;
const IDLE_CONNECTION_TIMEOUT_MS = 30_000;

/** How TypeORM reaches the database: one pool, every wait in it bounded, and nothing that a pooler would refuse. */
export function dataSourceOptions(config: DatabaseConfig) {
  return {
    type: 'postgres',
    migrations: [...migrations],
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    installExtensions: false,
    poolSize: config.databasePoolSize,
    extra: {
      Client: BoundedClient,
      connectionString: config.databaseUrl,
      // Waiting for a free connection and making a new one both count.
      connectionTimeoutMillis: config.databasePoolWaitMs,
      idleTimeoutMillis: IDLE_CONNECTION_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    },
  } as const satisfies DataSourceOptions;
}
