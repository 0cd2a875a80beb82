#!/usr/bin/env node
import './config/node-version';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app';
import { firstKey, printBanner } from './banner';
import { loadEnvFile, readConfig } from './config/config';
import { openDatabase } from './database/open-database';
import { migrate } from './database/migrate';
import { createLogger } from './logging/logger';
import { explain } from './startup-errors';

/** Longest that a stop waits for requests in flight before it ends their connections. */
const DRAIN_LIMIT_MS = 15_000;

async function main(): Promise<void> {
  loadEnvFile();
  const config = readConfig();
  const database = await openDatabase(config);
  let app: NestFastifyApplication | undefined;
  try {
    const serviceConfig = { ...config, databaseUrl: database.url };
    await migrate(serviceConfig);
    app = await createApp(serviceConfig, createLogger(config));
    await app.listen(config.port, config.host);
    printBanner(await app.getUrl(), database, config, await firstKey(app, config));
  } catch (error) {
    await app?.close();
    await database.close();
    throw error;
  }
  stopOnSignal(app, () => database.close());
}

/** Answers what is in flight, then closes pool and database and lets the process end with status 0. */
function stopOnSignal(app: NestFastifyApplication, closeDatabase: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    setTimeout(() => app.getHttpServer().closeAllConnections(), DRAIN_LIMIT_MS).unref();
    await app.close();
    await closeDatabase();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    // A second signal changes nothing: the stop is under way.
    process.on(signal, () => {
      stopping ??= stop().catch(fail);
    });
  }
}

function fail(error: unknown): void {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

main().catch(fail);
