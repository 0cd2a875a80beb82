import './config/node-version';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app';
import { firstKey, printBanner } from './banner';
import { loadEnvFile, readConfig } from './config/config';
import { openDatabase } from './database/open-database';
import { migrate } from './database/migrate';
import { prepareGracefulStop } from './edge/graceful-stop';
import { createLogger } from './logging/logger';
import { explain } from './explain';

async function main(): Promise<void> {
  loadEnvFile();
  const config = readConfig();
  const database = await openDatabase(config);
  let app: NestFastifyApplication | undefined;
  try {
    const serviceConfig = { ...config, databaseUrl: database.url };
    await migrate(serviceConfig);
    app = await createApp(serviceConfig, createLogger(config));
    const stop = prepareGracefulStop(app);
    const key = await firstKey(app, config);
    // Fastify's own listen: Nest's would log a port in use as an error before we say it in a sentence.
    const fastify = app.getHttpAdapter().getInstance();
    const url = await fastify.listen({ host: config.host, port: config.port });
    stopOnSignal(() => stop().then(() => database.close()));
    printBanner(url, database, config, key);
  } catch (error) {
    await app?.close();
    await database.close();
    throw error;
  }
}

/** Runs the stop once, then lets the process end with status 0; a second signal changes nothing. */
function stopOnSignal(stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stopping ??= stop().then(() => process.exit(0), fail);
    });
  }
}

function fail(error: unknown): void {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

main().catch(fail);
