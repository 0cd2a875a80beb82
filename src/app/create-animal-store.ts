import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './create-app';
import type { StoreOptions } from './start-animal-store';
import { createStore } from './store';
import { type Config, readConfig } from '../platform/config/config';
import { migrate } from '../platform/database/migrate';
import { openDatabase } from '../platform/database/open-database';
import { createLogger } from '../platform/logging/logger';

/**
 * Opens and migrates the database and builds the application, for a program that listens itself. `close()` of the
 * application also closes the database.
 *
 * @param config replaces settings of the environment; `databaseUrl: undefined` is the embedded database
 * @throws UserError
 */
export async function createAnimalStore(
  { extensions }: StoreOptions = {},
  config: Partial<Config> = {},
): Promise<NestFastifyApplication> {
  const store = createStore(extensions);
  const settings = { ...readConfig(), ...config };
  const database = await openDatabase(settings);
  try {
    const serviceConfig = { ...settings, databaseUrl: database.url };
    await migrate({ ...serviceConfig, migrations: store.migrations });
    const app = await createApp(serviceConfig, createLogger(settings), store);
    const close = app.close.bind(app);
    app.close = async () => {
      try {
        await close();
      } finally {
        await database.close();
      }
    };
    return app;
  } catch (error) {
    await database.close();
    throw error;
  }
}
