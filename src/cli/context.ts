import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '../auth';
import { SystemClock } from '../clock';
import { type Config, readConfig } from '../config/config';
import type { DatabaseConfig } from '../database/data-source';
import { DatabaseModule } from '../database/database.module';
import { migrate, migrationStates, SchemaError } from '../database/migrate';
import { joinDatabase, type OpenDatabase, openEmbeddedAlone } from '../database/open-database';
import { RuntimeModule } from '../runtime.module';

@Module({})
class CliModule {}

/** One command runs at a time. */
const POOL_SIZE = 2;

/** Runs `work` on the database of the settings; the embedded server is that of a running service, or started for it. */
export async function withDatabase<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  const config = readConfig();
  return using(await joinDatabase(config), config, work);
}

/** Runs `work` on the embedded database, which no service has meanwhile. */
export async function withEmbeddedDatabase<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  const config = readConfig();
  return using(await openEmbeddedAlone(config), config, work);
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

/** Runs `work` on the database of the settings, with an up-to-date schema. */
export function withSchema<T>(work: (config: DatabaseConfig) => Promise<T>): Promise<T> {
  return withDatabase(async (database) => {
    await prepareSchema(database);
    return await work(database);
  });
}

/** Runs `work` with the service's own modules, on an up-to-date schema, but without HTTP. */
export function withServices<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  return withSchema(async (database) => {
    const config = { ...readConfig(), ...database };
    const imports = [
      RuntimeModule.forRoot(config, new SystemClock()),
      DatabaseModule.forRoot(config),
      AuthModule,
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

/** Sets an empty database up. One that is in use is upgraded only on request: its service may run the version before. */
async function prepareSchema(database: DatabaseConfig): Promise<void> {
  const states = await migrationStates(database);
  if (states.every(({ isApplied }) => isApplied)) return;
  if (states.some(({ isApplied }) => isApplied)) {
    throw new SchemaError(
      'The database has the schema of an earlier version: start this version of the service once, or run "db migrate".',
    );
  }
  await migrate(database);
}
