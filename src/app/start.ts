import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { printBanner } from './banner';
import { buildService, type BuiltService, type StoreOptions } from './build';
import { createApp } from './create-app';
import { StandardOutput } from '../server/logging/standard-output';
import { createStore, type Store } from './store';
import { userMessage } from './user-message';
import { type Config, loadEnvFile, readConfig } from '../platform/config/config';
import { listenError, UserError } from '../platform/errors/user-error';
import { V8_FLAGS } from './v8-flags';
import { type Channel, channelToPrimary } from '../platform/runtime/channel';
import { decideFor, Limits } from '../rate-limit';
import { Connections } from '../server/http/connections';
import { createLogger, type LogStream } from '../server/logging/logger';
import { exitOnStopSignal, onStopSignal, stopGracefully, stopLine } from '../server/graceful-stop';
import { type WorkerConfig, Workers } from '../server/workers';

export interface StartedService extends BuiltService {
  readonly url: string;
  /** Responds to the requests in flight, then closes the application and the database. */
  readonly stop: () => Promise<void>;
  /** Resolves with a sentence if the service cannot continue. */
  readonly failed: Promise<string>;
}

/**
 * Runs the service in this process, with the settings of its environment and of `.env`, until a signal stops it.
 *
 * Resolves when the banner is printed. A failed start prints one sentence and ends the process with status 1. A signal
 * during the start ends it with 128 and the number of the signal.
 */
export async function startAnimalStore({ extensions }: StoreOptions = {}): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  exitOnStopSignal(channelToPrimary && (() => undefined));
  const output = new StandardOutput();
  // An error of standard error cannot be reported anywhere; it must not end the process.
  process.stderr.on('error', () => undefined);
  const fail = async (error: unknown): Promise<void> => {
    await report(userMessage(error));
    await output.flush();
    process.exit(1);
  };
  // The log is written asynchronously: `fail` flushes its last lines before the process exits.
  process.once('uncaughtException', (error) => void fail(error));
  try {
    const store = createStore(extensions);
    if (channelToPrimary) return await serveRequests(channelToPrimary, store, output);
    loadEnvFile();
    const service = await startService(readConfig(undefined, store.settings), store, output);
    prepareStop(service, output, fail);
    // Without it, such as on a full disk, the service serves all the same.
    await printBanner(service, output).catch((error: unknown) => report(userMessage(error)));
  } catch (error) {
    await fail(error);
  }
}

/** Prints a sentence, in the primary process. */
async function report(sentence: string): Promise<void> {
  if (channelToPrimary) await channelToPrimary.ask('failed', sentence).catch(() => undefined);
  else process.stderr.write(`${sentence}\n`);
}

/** Builds the service and listens. @throws Error that `userMessage` explains; everything is closed first */
export async function startService(
  settings: Config,
  store: Store,
  output: LogStream,
): Promise<StartedService> {
  const workers = settings.workers > 1 ? new Workers(settings.workers, output) : undefined;
  const built = await buildService(settings, store, output, undefined, workers);
  const { app, config, database } = built;
  const { log } = app.getHttpAdapter().getInstance();
  const sayStopping = (pending: number): void => log.info(stopLine(pending));
  const stop = async (): Promise<void> => {
    if (workers) await workers.stop(sayStopping).then(() => app.close());
    else {
      sayStopping(app.get(Connections).pending);
      await stopGracefully(app);
    }
    // Nest has only logged that the server did not stop.
    await database.close();
    log.info('Stopped.');
  };
  const reason = `The embedded PostgreSQL has stopped unexpectedly. Read ${database.directory}/postgres.log and start the service again.`;
  const failed = Promise.race([database.ended.then(() => reason), ...(workers ? [workers.failed] : [])]);
  try {
    const url = workers ? await startWorkers(workers, built) : await listen(app, config);
    return { ...built, stop, failed, url };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Nest's `listen` also logs the error, which `startAnimalStore` prints. */
async function listen(app: NestFastifyApplication, { host, port }: Config): Promise<string> {
  try {
    return await app.getHttpAdapter().getInstance().listen({ host, port });
  } catch (error) {
    // METRICS_PORT cannot be opened.
    if (error instanceof UserError) throw error;
    throw listenError(error, host, port);
  }
}

/** Opens METRICS_PORT in this process, and lets workers listen. */
async function startWorkers(workers: Workers, { app, config, database }: BuiltService): Promise<string> {
  const fastify = app.getHttpAdapter().getInstance();
  await fastify.ready();
  const limits = app.get(Limits, { strict: false });
  const ofWorkers = { texts: config.texts, databaseUrl: database.url };
  return workers.start(ofWorkers, (worker) => decideFor(worker, limits));
}

/** Serves requests as a worker until the primary process stops it. */
async function serveRequests(from: Channel, store: Store, output: StandardOutput): Promise<void> {
  const { texts, databaseUrl } = await from.ask<WorkerConfig>('settings');
  const config = { ...readConfig(texts, store.settings), databaseUrl };
  const app = await createApp(config, createLogger(config, output), store);
  const { server } = app
    .getHttpAdapter()
    .getInstance()
    // The primary process closes the port first: it would reset connections that wait when the last worker has closed.
    .addHook('preClose', async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      void from.ask('close').catch(() => undefined);
      await closed;
    });
  from.handle('stop', () => {
    const { pending } = app.get(Connections);
    void stopGracefully(app)
      .then(() => output.flush())
      .finally(() => process.exit(0));
    return pending;
  });
  await from.ask('listening', await listen(app, config));
}

/** Stops the service once: with status 0 on a signal, with status 1 when it cannot continue. */
function prepareStop(
  { failed, stop }: StartedService,
  output: StandardOutput,
  fail: (error: unknown) => Promise<void>,
): void {
  let isStopping = false;
  const stopWith = async (status: number, reason?: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    if (reason !== undefined) process.stderr.write(`${reason}\n`);
    await stop();
    await output.flush();
    process.exit(status);
  };
  onStopSignal(() => void stopWith(0).catch(fail));
  failed.then((reason) => stopWith(1, reason)).catch(fail);
}
