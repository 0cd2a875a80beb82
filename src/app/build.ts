import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { prefixOf } from '../auth';
import { createApp } from './create-app';
import { StandardOutput } from '../http/standard-output';
import { writersOf } from './database-checks.repository';
import { createStore, type Store } from './store';
import { type Config, readConfig } from '../config/config';
import { migrate } from '../database/migrate';
import { openDatabase } from './open-database';
import { Sql } from '../database/sql';
import { CoreModule } from './core.module';
import type { ExtensionModule } from '../api/extension/extension';
import type { DestinationStream } from 'pino';
import { createLogger } from '../http/logger';
import type { Clock } from '../time/clock';
import type { Workers } from './workers';

export interface StoreOptions {
  readonly extensions?: readonly ExtensionModule[];
}

/** Settings by their names in the `Config`: the store's and the extensions'. */
export type GivenConfig = Partial<Config> & Readonly<Record<string, unknown>>;

export type BuiltService = Awaited<ReturnType<typeof buildService>>;

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
  // The program may add routes and schemas of its own.
  const store = { ...createStore(extensions), isExtended: true };
  const settings = { ...readConfig(undefined, store.settings), ...config };
  return (await buildService(settings, store)).app;
}

/**
 * Migrates the database and builds the application, which does not listen yet. Its `close()` also closes the database.
 *
 * @throws Error that `userMessage` explains
 */
export async function buildService(
  config: Config,
  store: Store,
  output: DestinationStream = new StandardOutput(),
  clock?: Clock,
  workers?: Workers,
) {
  const logger = createLogger(config, output);
  const database = await openDatabase(config, 'service', () => logger.info('Creating the database…'));
  let app: NestFastifyApplication | undefined;
  try {
    const serviceConfig = { ...config, databaseUrl: database.url() };
    const migrated = () =>
      migrate({ ...serviceConfig, migrations: store.migrations }, prefixOf(config.deployment));
    const { removed } = await migrated();
    for (const name of removed)
      logger.warn(
        `The tables of the removed extension ${name} stay. "db revert --extension ${name}" of a program that has it deletes them.`,
      );
    app = await createApp(serviceConfig, logger, store, clock, workers);
    app.get(CoreModule).afterClose(() => database.stop());
    // A "db revert" may have run before this instance registered itself as running.
    await migrated();
    for (const { names } of await writersOf(app.get(Sql, { strict: false })))
      logger.error(
        `These roles besides the owner may change tables of the store: ${names}. Take these rights from them by REVOKE, unless they need them.`,
      );
    return { app, config, database, store };
  } catch (error) {
    await app?.close();
    await database.stop();
    throw error;
  }
}
