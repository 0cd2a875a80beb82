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
import { createLogger, type LogStream } from '../http/logger';
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
  try {
    const store = createStore(extensions);
    if (isWorker()) return await serveRequests(store, output, fail);
    loadEnvFile();
    const service = await startService(readConfig(undefined, store.settings), store, output);
    const stopWith = prepareStop(service.stop, output, fail);
    const { directory, ended } = service.database;
    const reason = `The embedded PostgreSQL has stopped unexpectedly. Read ${directory}/postgres.log and start the service again.`;
    void ended.then(() => stopWith(1, reason));
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
export async function startService(settings: Config, store: Store, output: LogStream) {
  if (settings.workers > 1 && !settings.redisUrl)
    throw new UserError(
      'WORKERS above 1 needs REDIS_URL, which makes the limits exact over all of them: set it, or WORKERS=1.',
    );
  const workers = settings.workers > 1 ? new Workers(settings.workers, output) : undefined;
  const built = await buildService(settings, store, output, undefined, workers);
  const { app, config, database } = built;
  const { log } = app.getHttpAdapter().getInstance();
  /** Responds to the requests in flight, then closes the application and the database. */
  const stop = async (): Promise<void> => {
    log.info('Stopping…');
    await workers?.stop();
    await stopGracefully(app);
    // Nest has only logged that the server did not stop.
    await database.stop();
    log.info('Stopped.');
  };
  try {
    // Opens METRICS_PORT, in this process also for workers.
    await app.getHttpAdapter().getInstance().ready();
    const url = await (workers ? workers.start(database.url()) : listen(app, config));
    return { ...built, stop, url };
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
    throw listenError(error);
  }
}

/** Serves requests as a worker, until a signal or the end of the primary process, whose environment it has. */
async function serveRequests(
  store: Store,
  output: StandardOutput,
  fail: (error: unknown) => Promise<void>,
): Promise<void> {
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
  prepareStop(() => stopGracefully(app), output, fail);
  tellPrimary({ url: await listen(app, config) });
}

/** Lets a signal stop the service. @returns a function that stops it once, with a status and the reason of a failure */
function prepareStop(
  stop: () => Promise<void>,
  output: StandardOutput,
  fail: (error: unknown) => Promise<void>,
) {
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
  return (status: number, reason: string) => stopWith(status, reason).catch(fail);
}
