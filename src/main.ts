import './config/node-version';
import './config/v8-flags';
import { greet } from './banner';
import { readConfig } from './config/config';
import { loadEnvFile } from './config/env-file';
import { explain } from './explain';
import { openStandardOutput } from './logging/standard-output';
import { startService, type StartedService } from './start';

const output = openStandardOutput();
// Where standard error cannot be written either, there is no place left to say so.
process.stderr.on('error', () => undefined);

type StopWith = (status: number, reason?: string) => Promise<void>;

async function main(): Promise<void> {
  loadEnvFile();
  const service = await startService(readConfig(), output);
  const stopWith = prepareStop(service);
  await greet(service, output).catch((error) => stopWith(1, explain(error)));
}

/** Stops once: for a signal with status 0, for a database that has ended with status 1. */
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
