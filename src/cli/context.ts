import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AccountsModule } from '../accounts';
import { SystemClock } from '../platform/runtime/clock';
import { type Config, readConfig } from '../platform/config/config';
import type { DatabaseConfig } from '../platform/database/data-source';
import { DatabaseModule } from '../platform/database/database.module';
import { migrate, migrationStates } from '../platform/database/migrate';
import { joinDatabase, type OpenDatabase, openEmbeddedExclusively } from '../platform/database/open-database';
import { RuntimeModule } from '../platform/runtime/runtime.module';
import { UserError } from '../platform/errors/user-error';

@Module({})
class CliModule {}

/** Connections of a process, which runs one command. */
const POOL_SIZE = 2;

/** Runs `work` on the configured database. Joins the embedded server of a running service, or starts one. */
export async function withDatabase<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  const config = readConfig();
  return using(await joinDatabase(config), config, work);
}

/** Runs `work` on the embedded database while no service uses it. */
export async function withEmbeddedDatabase<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  const config = readConfig();
  return using(await openEmbeddedExclusively(config), config, work);
}

async function using<T>(
  database: OpenDatabase,
  config: Config,
  work: (config: DatabaseConfig) => Promise<T>,
): Promise<T> {
  try {
    for (const notice of database.notices) process.stderr.write(`${notice}\n`);
    return await work({ ...config, databaseUrl: database.url, databasePoolSize: POOL_SIZE });
  } finally {
    await database.close();
  }
}

/** Runs `work` on the configured database with an up-to-date schema. */
export function withSchema<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  return withDatabase(async (database) => {
    await prepareSchema(database);
    return await work(database);
  });
}

/** Runs `work` with the modules of the service on an up-to-date schema, without HTTP. */
export function withServices<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  return withSchema(async (database) => {
    const config = { ...readConfig(), ...database };
    const imports = [
      RuntimeModule.forRoot(config, new SystemClock()),
      DatabaseModule.forRoot(config),
      AccountsModule,
    ];
    const services = await NestFactory.createApplicationContext(
      { module: CliModule, imports },
      { logger: false, abortOnError: false },
    );
    try {
      return await work(services);
    } finally {
      await services.close();
    }
  });
}

/** Migrates an empty database. Rejects an older schema, because a service of that version may be using it. */
async function prepareSchema(database: DatabaseConfig): Promise<void> {
  const states = await migrationStates(database);
  if (states.every(({ isApplied }) => isApplied)) return;
  if (states.some(({ isApplied }) => isApplied)) {
    throw new UserError(
      'The database has the schema of an earlier version. Start this version of the service once, or run "db migrate".',
    );
  }
  await migrate(database);
}
