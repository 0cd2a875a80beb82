import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SystemClock } from '../time/clock';
import { type Config, readConfig } from '../config/config';
import { START_WAIT_MS } from '../database/data-source';
import { migrate, migrationStates, type SchemaConfig } from '../database/migrate';
import { openDatabase } from '../app/open-database';
import { MAX_ITEMS, type Page, SortedPageQuery } from '../api/lists/page';
import { CoreModule } from '../app/core.module';
import type { Store } from '../app/store';
import { UserError } from '../config/user-error';
import { UsageModule } from '../usage';

/** The settings of a command, and the data folder of its server; undefined for the server of DATABASE_URL. */
type CommandConfig = Config & SchemaConfig & { readonly directory: string | undefined };
type Work<T> = (config: CommandConfig) => Promise<T>;

/** Opens the database, and the services, for one command. */
export class CommandContext {
  constructor(readonly store: Store) {}

  /**
   * Runs `work` on the configured database: joins the embedded server of a running service, or starts one.
   *
   * @param canCreate true creates the files of an embedded server that does not exist
   */
  async withDatabase<T>(work: Work<T>, canCreate = false): Promise<T> {
    const { migrations, settings } = this.store;
    const config = readConfig(undefined, settings);
    const database = await openDatabase(config, 'command', (directory) => {
      if (!canCreate) throw noDatabase(directory);
      process.stderr.write('Creating the database…\n');
    });
    try {
      const { directory } = database;
      const pool = { databasePoolSize: 2, databasePoolWaitMs: START_WAIT_MS };
      return await work({ ...config, ...pool, migrations, databaseUrl: database.url(), directory });
    } finally {
      await database.stop();
    }
  }

  /** Runs `work` on the configured database with an up-to-date schema. */
  withSchema<T>(work: Work<T>): Promise<T> {
    return this.withDatabase(async (config) => {
      await prepareSchema(config);
      return await work(config);
    });
  }

  /** Runs `work` with a service of accounts, keys or usage on an up-to-date schema, without HTTP. */
  withService<S, T>(type: Type<S>, work: (service: S) => Promise<T>): Promise<T> {
    return this.withSchema(async (config) => {
      const core = CoreModule.forRoot(config, new SystemClock(), this.store);
      const services = await NestFactory.createApplicationContext(
        // Imports the module of accounts and keys.
        { module: UsageModule, imports: [core] },
        { logger: false, abortOnError: false },
      );
      try {
        return await work(services.get(type, { strict: false }));
      } finally {
        await services.close();
      }
    });
  }

  /** Reads all pages of a list. */
  readAll<S, T>(type: Type<S>, list: (service: S, query: SortedPageQuery) => Promise<Page<T>>): Promise<T[]> {
    return this.withService(type, async (service) => {
      const items: T[] = [];
      let page: Page<T> | undefined;
      do {
        const cursor = page?.nextCursor;
        page = await list(service, { sort: 'id', limit: MAX_ITEMS, ...(cursor !== undefined && { cursor }) });
        items.push(...page.items);
      } while (page.nextCursor !== undefined);
      return items;
    });
  }
}

/**
 * Migrates an empty database of DATABASE_URL. Rejects an older schema, because a service of that version may be using
 * it, and the empty database of a restore that failed, which the next one needs.
 */
async function prepareSchema(database: CommandConfig): Promise<void> {
  const states = await migrationStates(database);
  if (!states.some(({ state }) => state === 'pending')) return;
  if (states.some(({ state }) => state === 'applied')) {
    throw new UserError(
      'The database has the schema of an earlier version. Start this version of the service once, or run "db migrate".',
    );
  }
  if (database.directory !== undefined) throw noDatabase(database.directory);
  await migrate(database);
}

function noDatabase(directory: string): UserError {
  return new UserError(
    `There is no database in ${directory}: run the command in the folder of the service, or set DATABASE_URL or DATA_DIR as for the service. The start of a service, "db migrate" and "db restore" create one.`,
  );
}
