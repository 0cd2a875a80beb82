import { buildService, type BuiltService } from './build-service';
import type { Config } from '../platform/config/config';
import { prepareGracefulStop } from '../platform/edge/graceful-stop';
import { listen } from './listen';
import type { LogStream } from '../platform/logging/logger';
import type { Store } from './store';

/** A service that listens for requests. */
export interface StartedService extends BuiltService {
  readonly url: string;
  readonly store: Store;
  /** Responds to the requests in flight, then closes the application and the database. */
  readonly stop: () => Promise<void>;
}

/**
 * Builds the service and listens.
 *
 * @throws Error that `userMessage` explains; everything that was opened is closed first
 */
export async function startService(
  settings: Config,
  store: Store,
  output: LogStream,
): Promise<StartedService> {
  const built = await buildService(settings, store, output);
  const { app, config, database } = built;
  const drain = prepareGracefulStop(app);
  const stop = async (): Promise<void> => {
    try {
      await drain();
    } finally {
      await database.close();
    }
  };
  try {
    return { ...built, store, stop, url: await listen(app, config) };
  } catch (error) {
    await app.close();
    await database.close();
    throw error;
  }
}
