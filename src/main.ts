import './platform/runtime/node-version';
import './platform/runtime/v8-flags';
import { printBanner } from './app/banner';
import { readConfig } from './platform/config/config';
import { loadEnvFile } from './platform/config/env-file';
import { userMessage } from './app/user-message';
import { openStandardOutput } from './platform/logging/standard-output';
import { startService, type StartedService } from './app/start';
import { createStore } from './app/store';

const output = openStandardOutput();
// An error of standard error cannot be reported anywhere; it must not end the process.
process.stderr.on('error', () => undefined);

type StopWith = (status: number, reason?: string) => Promise<void>;

async function main(): Promise<void> {
  loadEnvFile();
  const service = await startService(readConfig(), createStore(), output);
  const stopWith = prepareStop(service);
  await printBanner(service, output).catch((error) => stopWith(1, userMessage(error)));
}

/** Stops the service once: with status 0 on a signal, with status 1 when the embedded database has ended. */
function prepareStop({ database, stop }: StartedService): StopWith {
  let isStopping = false;
  const stopWith = async (status: number, reason?: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    if (reason !== undefined) process.stderr.write(`${reason}\n`);
    await stop();
    await output.flush();
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void stopWith(0).catch(fail));
  }
  const reason = `The embedded PostgreSQL has stopped unexpectedly. Read ${database.directory}/postgres.log and start the service again.`;
  database.ended.then(() => stopWith(1, reason)).catch(fail);
  return stopWith;
}

async function fail(error: unknown): Promise<void> {
  process.stderr.write(`${userMessage(error)}\n`);
  await output.flush();
  process.exit(1);
}

// The log is written asynchronously: `fail` flushes its last lines before the process exits.
process.once('uncaughtException', (error) => void fail(error));
main().catch(fail);
