import type { DefinedScope } from '../../../src/platform/extension/define-scopes';
import { startApp, type TestApp } from '../../support/app';
import { createDatabase } from '../../support/database';
import { ADMIN_URL_VARIABLE } from '../../support/database-urls';
import { until } from '../../support/until';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy';
import { poolOf } from './pool';

/** The service with few connections to PostgreSQL, through a proxy that can cut them. */
export interface CutApp {
  readonly app: TestApp;
  readonly proxy: CuttingProxy;
  /** The database without the proxy. */
  readonly directUrl: string;
  readonly key: string;
  /** Ends every connection, so that the next request must open one. */
  endConnections(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param databasePoolSize 1 for a single connection, which is not pipelined
 * @param scopes of the key; default: all
 */
export async function startCutApp(databasePoolSize = 1, scopes?: readonly DefinedScope[]): Promise<CutApp> {
  const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
  const database = await createDatabase();
  const behindProxy = { ...database, url: proxy.through(database.url) };
  const app = await startApp({ databasePoolSize }, { database: behindProxy });
  return {
    app,
    proxy,
    directUrl: database.directUrl,
    key: await app.unlimitedKey(scopes),
    endConnections: () =>
      until(() => {
        proxy.end();
        return poolOf(app).totalCount === 0;
      }),
    close: async () => {
      await app.close();
      await proxy.close();
    },
  };
}
