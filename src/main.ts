import './config/node-version';
import './config/v8-flags';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app';
import { firstKey, printBanner } from './banner';
import { loadEnvFile, readConfig } from './config/config';
import { fitConnections, readOpenFileLimit } from './config/open-files';
import { migrate } from './database/migrate';
import { type OpenDatabase, openDatabase } from './database/open-database';
import { prepareGracefulStop } from './edge/graceful-stop';
import { explain } from './explain';
import { listen } from './listen';
import { createLogger } from './logging/logger';

async function main(): Promise<void> {
  loadEnvFile();
  const settings = readConfig();
  const { maxConnections, notices } = fitConnections(settings, readOpenFileLimit());
  const config = { ...settings, maxConnections };
  const database = await openDatabase(config);
  let app: NestFastifyApplication | undefined;
  try {
    const serviceConfig = { ...config, databaseUrl: database.url };
    await migrate(serviceConfig);
    app = await createApp(serviceConfig, createLogger(config));
    const stop = prepareGracefulStop(app);
    const url = await listen(app, config);
    stopInTime(stop, database);
    // After the port is ours: a key that nobody gets to see would be the only one of its kind.
    printBanner(
      url,
      { ...database, notices: [...notices, ...database.notices] },
      config,
      await firstKey(app, config),
    );
  } catch (error) {
    await app?.close();
    await database.close();
    throw error;
  }
}

/** Stops once: for a signal with status 0, for a database that has ended with status 1. */
function stopInTime(stop: () => Promise<void>, database: OpenDatabase): void {
  let isStopping = false;
  const stopWith = async (status: number, reason?: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    if (reason !== undefined) process.stderr.write(`${reason}\n`);
    try {
      await stop();
    } finally {
      await database.close();
    }
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void stopWith(0).catch(fail));
  }
  const reason = `The embedded PostgreSQL has ended by itself: read ${database.directory}/postgres.log, and start the service again.`;
  database.ended.then(() => stopWith(1, reason)).catch(fail);
}

function fail(error: unknown): void {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

main().catch(fail);
