import { settings } from '../../src/config/settings';

/** Every variable of the service, empty: neither the shell of the developer nor a file .env decides what a spec does. */
export const NO_SETTINGS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(settings).map(({ variable }) => [variable, '']),
);

/** The longest wait for a database connection, which a busy machine may take seconds to open. */
export const PATIENCE = { DATABASE_POOL_WAIT_MS: '20000' };
