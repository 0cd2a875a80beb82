import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './create-app';
import type { Config } from '../platform/config/config';
import { fitConnections, readOpenFileLimit } from '../platform/runtime/open-files';
import { migrate } from '../platform/database/migrate';
import { type OpenDatabase, openDatabase } from '../platform/database/open-database';
import { prepareGracefulStop } from '../platform/edge/graceful-stop';
import { listen } from './listen';
import { createLogger, type LogStream } from '../platform/logging/logger';
import type { Store } from './store';

/** A service that listens for requests. */
export interface StartedService {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly config: Config;
  readonly store: Store;
  readonly database: OpenDatabase;
  /** Responds to the requests in flight, then closes the application and the database. */
  readonly stop: () => Promise<void>;
}

/**
 * Opens and migrates the database, builds the application and listens.
 *
 * @throws Error that `userMessage` explains; everything that was opened is closed first
 */
export async function startService(
  settings: Config,
  store: Store,
  output: LogStream,
): Promise<StartedService> {
  const { maxConnections, notices } = fitConnections(settings, readOpenFileLimit());
  const config = { ...settings, maxConnections };
  const opened = await openDatabase(config);
  const database = { ...opened, notices: [...notices, ...opened.notices] };
  let app: NestFastifyApplication | undefined;
  try {
    const serviceConfig = { ...config, databaseUrl: database.url };
    await migrate({ ...serviceConfig, migrations: store.migrations });
    app = await createApp(serviceConfig, createLogger(config, output), store);
    const drain = prepareGracefulStop(app);
    const stop = async (): Promise<void> => {
      try {
        await drain();
      } finally {
        await database.close();
      }
    };
    const url = await listen(app, config);
    return { app, url, config, store, database, stop };
  } catch (error) {
    await app?.close();
    await database.close();
    throw error;
  }
}
