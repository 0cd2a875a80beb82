import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './create-app';
import type { Config } from '../platform/config/config';
import { migrateStore } from './migrate-store';
import { type OpenDatabase, openDatabase } from '../platform/database/open-database';
import { createLogger, type LogStream } from '../platform/logging/logger';
import { fitConnections, readOpenFileLimit } from '../platform/runtime/open-files';
import type { Store } from './store';

/** A service that does not listen yet. Close the application first, then the database. */
export interface BuiltService {
  readonly app: NestFastifyApplication;
  readonly config: Config;
  readonly database: OpenDatabase;
}

/**
 * Opens and migrates the database and builds the application.
 *
 * @throws Error that `userMessage` explains; the database is closed first
 */
export async function buildService(
  settings: Config,
  store: Store,
  output?: LogStream,
): Promise<BuiltService> {
  const { maxConnections, notices } = fitConnections(settings, readOpenFileLimit());
  const config = { ...settings, maxConnections };
  const opened = await openDatabase(config);
  const database = { ...opened, notices: [...notices, ...opened.notices] };
  try {
    const serviceConfig = { ...config, databaseUrl: database.url };
    const logger = createLogger(config, output);
    const removed = await migrateStore(serviceConfig, store, logger);
    const app = await createApp(serviceConfig, logger, store);
    return { app, config, database: { ...database, notices: [...database.notices, ...removed] } };
  } catch (error) {
    await database.close();
    throw error;
  }
}
