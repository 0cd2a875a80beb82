import { openSync } from 'node:fs';
import { printBanner } from '../../src/app/banner';
import type { StoreOptions } from '../../src/app/build';
import { readConfig } from '../../src/platform/config/config';
import { userMessage } from '../../src/app/user-message';
import { createStore } from '../../src/app/store';
import { startAnimalStore, startService, type StartedService } from '../../src/app/start';
import { NO_SETTINGS } from './no-settings';
import { holdTimers } from './timers';

/** The service in this process, started as by `npm start`. */
export interface ServiceHere extends StartedService {
  /** Its printed banner. */
  readonly printed: string;
  /** Every line of its log. */
  readonly log: readonly string[];
  /** The key that a first start prints. */
  readonly key: string | undefined;
}

/** The services to stop after a failed spec; they would keep jest from exiting. */
const started = new Set<StartedService>();
afterAll(async () => {
  for (const service of started) await service.stop();
});

/** Starts the service. @throws an error that `userMessage` converts to a sentence */
export async function startHere(
  environment: Record<string, string>,
  { extensions }: StoreOptions = {},
): Promise<ServiceHere> {
  const log: string[] = [];
  const store = createStore(extensions);
  const config = readConfig({ PORT: '0', ...environment }, store.settings);
  const service = await startService(config, store, { write: (line) => log.push(line) });
  started.add(service);
  let printed = '';
  await printBanner(service, {
    print: (text) => {
      printed += text;
      return Promise.resolve(true);
    },
  });
  const stop = () => {
    started.delete(service);
    return service.stop();
  };
  return { ...service, stop, printed, log, key: /^ {2}(ask_\w+)$/m.exec(printed)?.[1] };
}

/** Returns the message of a start that fails in this environment. */
export async function rejectionOf(environment: Record<string, string>): Promise<string> {
  try {
    await (await startHere(environment)).stop();
  } catch (error) {
    return userMessage(error);
  }
  throw new Error('the service has started');
}

const EVENTS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException'] as const;

/**
 * Runs `npm start` in this process, until it would end the process.
 *
 * @param standardOutput the file that it writes to
 * @param meanwhile runs while the service starts
 */
export async function exitOf(
  environment: Readonly<Record<string, string>>,
  {
    standardOutput = '/dev/null',
    meanwhile = () => Promise.resolve(),
    ...options
  }: StoreOptions & { standardOutput?: string; meanwhile?: () => Promise<void> } = {},
): Promise<{ status: unknown; error: string }> {
  let error = '';
  const before = EVENTS.map((event) => process.rawListeners(event));
  const fd = openSync(standardOutput, 'w');
  // The log would repeat a failed write forever: this process continues.
  holdTimers({ timeouts: true });
  jest.spyOn(process, 'stdout', 'get').mockReturnValue({ fd } as typeof process.stdout);
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    error += String(text);
    return true;
  });
  jest.replaceProperty(process, 'env', { ...process.env, ...NO_SETTINGS, PORT: '0', ...environment });
  try {
    const exit = new Promise((resolve) => {
      jest.spyOn(process, 'exit').mockImplementation((status) => resolve(status) as never);
    });
    void startAnimalStore(options);
    // A service that still runs would keep jest from exiting.
    await meanwhile().catch(async (failure: unknown) => {
      process.emit('SIGTERM');
      await exit;
      throw failure;
    });
    return { status: await exit, error };
  } finally {
    jest.restoreAllMocks();
    jest.useRealTimers();
    for (const [at, event] of EVENTS.entries()) {
      const added = process.rawListeners(event).filter((each) => !before[at]!.includes(each));
      for (const each of added) process.off(event, each as () => void);
    }
  }
}
