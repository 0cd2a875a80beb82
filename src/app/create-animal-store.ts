import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { buildService } from './build-service';
import type { StoreOptions } from './start-animal-store';
import { createStore } from './store';
import { type Config, readConfig } from '../platform/config/config';

/** Settings by their names in the `Config`: those of the store, and those of extensions. */
export type GivenConfig = Partial<Config> & Readonly<Record<string, unknown>>;

/**
 * Opens and migrates the database and builds the application, for a program that listens itself. `close()` of the
 * application also closes the database.
 *
 * @param config replaces settings of the environment; `databaseUrl: undefined` is the embedded database
 * @throws UserError
 */
export async function createAnimalStore(
  { extensions }: StoreOptions = {},
  config: GivenConfig = {},
): Promise<NestFastifyApplication> {
  const store = createStore(extensions);
  const { app, database } = await buildService(
    { ...readConfig(undefined, store.settings), ...config },
    store,
  );
  const close = app.close.bind(app);
  app.close = async () => {
    try {
      await close();
    } finally {
      await database.close();
    }
  };
  return app;
}
