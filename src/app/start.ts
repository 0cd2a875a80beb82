import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { printBanner } from './banner';
import { buildService, type StoreOptions } from './build';
import { createApp } from './create-app';
import { StandardOutput } from '../http/standard-output';
import { createStore, type Store } from './store';
import { userMessage } from './user-message';
import { type Config, isWorker, loadEnvFile, readConfig } from '../config/config';
import { listenError, UserError } from '../config/user-error';
import { V8_FLAGS } from './v8-flags';
import type { DestinationStream } from 'pino';
import { createLogger } from '../http/logger';
import { exitOnStopSignal, onStopSignal, stopGracefully } from './graceful-stop';
import { type WorkerMessage, Workers } from './workers';

export type StartedService = Awaited<ReturnType<typeof startService>>;

/**
 * Runs the service in this process, with the settings of its environment and of `.env`, until a signal stops it.
 *
 * Resolves when the banner is printed. A failed start prints one sentence and ends the process with status 1. A signal
 * during the start ends it with 128 and the number of the signal.
 */
export async function startAnimalStore({ extensions }: StoreOptions = {}): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  exitOnStopSignal();
  const output = new StandardOutput();
  // An error of standard error cannot be reported anywhere; it must not end the process.
  process.stderr.on('error', () => undefined);
  const fail = async (error: unknown): Promise<void> => {
    process.stderr.write(`${userMessage(error)}\n`);
    await output.flush();
    process.exit(1);
  };
  // The log is written asynchronously: `fail` flushes its last lines before the process exits.
  process.once('uncaughtException', (error) => void fail(error));
  let isStopping = false;
  /** Stops the service once: with status 0 on a signal, with status 1 and the reason if it cannot continue. */
  const stopOnce = async (stop: () => Promise<void>, reason?: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    if (reason !== undefined) process.stderr.write(`${reason}\n`);
    await stop().catch(fail);
    await output.flush();
    process.exit(reason === undefined ? 0 : 1);
  };
  try {
    const store = createStore(extensions);
    if (isWorker()) {
      const app = await startWorker(store, output);
      return onStopSignal(() => void stopOnce(() => stopGracefully(app)));
    }
    loadEnvFile();
    const { stop, ...service } = await startService(readConfig(undefined, store.settings), store, output);
    onStopSignal(() => void stopOnce(stop));
    const { directory, ended } = service.database;
    const reason = `The embedded PostgreSQL has stopped unexpectedly. Read ${directory}/postgres.log and start the service again.`;
    void ended.then(() => stopOnce(stop, reason));
    await printBanner(service, output);
  } catch (error) {
    await fail(error);
  }
}

/** Sends a message of a worker. If the primary process has ended, this one ends, too. */
function tellPrimary(message: WorkerMessage): void {
  process.send?.(message, undefined, undefined, () => undefined);
}

/** Builds the service and listens. @throws Error that `userMessage` explains; everything is closed first */
export async function startService(settings: Config, store: Store, output: DestinationStream) {
  if (settings.workers > 1 && !settings.redisUrl)
    throw new UserError(
      'WORKERS above 1 needs REDIS_URL, which makes the limits exact over all of them: set it, or WORKERS=1.',
    );
  const workers = settings.workers > 1 ? new Workers(settings.workers, output) : undefined;
  const built = await buildService(settings, store, output, undefined, workers);
  const { app, config, database } = built;
  const fastify = app.getHttpAdapter().getInstance();
  /** Responds to the requests in flight, then closes the application and the database. */
  const stop = async (): Promise<void> => {
    fastify.log.info('Stopping…');
    await workers?.stop();
    await stopGracefully(app);
    // Nest has only logged that the server did not stop.
    await database.stop();
    fastify.log.info('Stopped.');
  };
  try {
    // Opens METRICS_PORT, in this process also for workers.
    await fastify.ready();
    const url = await (workers ? workers.start(database.url()) : listen(app, config));
    return { ...built, stop, url };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Nest's `listen` also logs the error, which `startAnimalStore` prints. */
async function listen(app: NestFastifyApplication, { host, port }: Config): Promise<string> {
  const fastify = app.getHttpAdapter().getInstance();
  return fastify.listen({ host, port }).catch((error: unknown) => {
    throw listenError(error);
  });
}

/** Serves requests as a worker, until a signal or the end of the primary process, whose environment it has. */
async function startWorker(store: Store, output: DestinationStream): Promise<NestFastifyApplication> {
  const [databaseUrl]: string[] = await once(process, 'message');
  const config = { ...readConfig(undefined, store.settings), databaseUrl: String(databaseUrl) };
  const app = await createApp(config, createLogger(config, output), store);
  const { server } = app
    .getHttpAdapter()
    .getInstance()
    // The primary process closes the port first: it would reset connections that wait when the last worker has closed.
    .addHook('preClose', async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      tellPrimary({ isClosing: true });
      await closed;
    });
  tellPrimary({ url: await listen(app, config) });
  return app;
}
