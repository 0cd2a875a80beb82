import { setFlagsFromString } from 'node:v8';
import { printBanner } from './banner';
import { buildService, type BuiltService, type StoreOptions } from './build';
import { StandardOutput } from '../server/standard-output';
import { createStore, type Store } from './store';
import { userMessage } from './user-message';
import { type Config, loadEnvFile, readConfig } from '../platform/config/config';
import { listenError, UserError } from '../platform/errors/user-error';
import { V8_FLAGS } from './v8-flags';
import type { LogStream } from '../server/logger';
import { exitOnStopSignal, onStopSignal, stopGracefully } from '../server/graceful-stop';

/** A service that listens for requests. */
export interface StartedService extends BuiltService {
  readonly url: string;
  /** Responds to the requests in flight, then closes the application and the database. */
  readonly stop: () => Promise<void>;
}

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
    loadEnvFile();
    const service = await startService(readConfig(undefined, store.settings), store, output);
    const stopWith = prepareStop(service, output, fail);
    await printBanner(service, output).catch((error) => stopWith(1, userMessage(error)));
  } catch (error) {
    await fail(error);
  }
}

/** Builds the service and listens. @throws Error that `userMessage` explains; everything is closed first */
export async function startService(
  settings: Config,
  store: Store,
  output: LogStream,
): Promise<StartedService> {
  const built = await buildService(settings, store, output);
  const { app, config, database } = built;
  const stop = async (): Promise<void> => {
    await stopGracefully(app);
    // Nest has only logged that the server did not stop.
    await database.close();
    app.getHttpAdapter().getInstance().log.info('Stopped.');
  };
  const { host, port } = config;
  try {
    // Nest's `listen` also logs the error, which `startAnimalStore` prints.
    return { ...built, stop, url: await app.getHttpAdapter().getInstance().listen({ host, port }) };
  } catch (error) {
    await app.close();
    // METRICS_PORT cannot be opened.
    if (error instanceof UserError) throw error;
    throw listenError(error, host, port);
  }
}

/** Stops the service once: with status 0 on a signal, with status 1 when the embedded database has ended. */
function prepareStop(
  { database, stop }: StartedService,
  output: StandardOutput,
  fail: (error: unknown) => Promise<void>,
): (status: number, reason?: string) => Promise<void> {
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
  const reason = `The embedded PostgreSQL has stopped unexpectedly. Read ${database.directory}/postgres.log and start the service again.`;
  database.ended.then(() => stopWith(1, reason)).catch(fail);
  return stopWith;
}
