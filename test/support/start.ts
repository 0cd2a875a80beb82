import { printBanner } from '../../src/app/banner';
import type { StoreOptions } from '../../src/app/build';
import { readConfig } from '../../src/config/config';
import { userMessage } from '../../src/app/user-message';
import { createStore } from '../../src/app/store';
import { startService, type StartedService } from '../../src/app/start';
import { PATIENCE } from './no-settings';

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
  const config = readConfig({ PORT: '0', ...PATIENCE, ...environment }, store.settings);
  const service = await startService(config, store, { write: (line) => log.push(line) });
  started.add(service);
  let printed = '';
  await printBanner(service, { write: (text) => void (printed += text) });
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
