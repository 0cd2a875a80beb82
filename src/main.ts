import './config/node-version';
import './config/v8-flags';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app';
import { addressLines, firstKey, keyLines } from './banner';
import { type Config, readConfig } from './config/config';
import { loadEnvFile } from './config/env-file';
import { fitConnections, readOpenFileLimit } from './config/open-files';
import { migrate } from './database/migrate';
import { type OpenDatabase, openDatabase } from './database/open-database';
import { prepareGracefulStop } from './edge/graceful-stop';
import { explain } from './explain';
import { listen } from './listen';
import { createLogger } from './logging/logger';
import { openStandardOutput } from './logging/standard-output';

const output = openStandardOutput();
// Where standard error cannot be written either, there is no place left to say so.
process.stderr.on('error', () => undefined);

type StopWith = (status: number, reason?: string) => Promise<void>;

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
    app = await createApp(serviceConfig, createLogger(config, output));
    const stop = prepareGracefulStop(app);
    const url = await listen(app, config);
    const stopWith = stopInTime(stop, database);
    await greet(app, url, { ...database, notices: [...notices, ...database.notices] }, config).catch(
      (error) => stopWith(1, explain(error)),
    );
  } catch (error) {
    await app?.close();
    await database.close();
    throw error;
  }
}

/** Prints the banner. The first key is created only if its reader is there: it cannot be shown again. */
async function greet(
  app: NestFastifyApplication,
  url: string,
  database: OpenDatabase,
  config: Config,
): Promise<void> {
  const isRead = await output.print(addressLines(url, database, config));
  if (isRead) await output.print(keyLines(url, await firstKey(app, config)));
}

/** Stops once: for a signal with status 0, for a database that has ended with status 1. */
function stopInTime(stop: () => Promise<void>, database: OpenDatabase): StopWith {
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
    await output.flush();
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void stopWith(0).catch(fail));
  }
  const reason = `The embedded PostgreSQL has ended by itself: read ${database.directory}/postgres.log, and start the service again.`;
  database.ended.then(() => stopWith(1, reason)).catch(fail);
  return stopWith;
}

async function fail(error: unknown): Promise<void> {
  process.stderr.write(`${explain(error)}\n`);
  await output.flush();
  process.exit(1);
}

// The last lines of the log are written asynchronously, before a crash too.
process.once('uncaughtException', (error) => void fail(error));
main().catch(fail);
