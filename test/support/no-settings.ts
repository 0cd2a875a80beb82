import { settings } from '../../src/platform/config/settings';

const variables = [...Object.values(settings).map(({ variable }) => variable), 'ANIMAL_STORE_KEY'];

/** Every variable of the service, empty: neither the shell of the developer nor a file .env decides what a spec does. */
export const NO_SETTINGS: Readonly<Record<string, string>> = Object.fromEntries(
  variables.map((variable) => [variable, '']),
);

/** The longest wait for a database connection, which a busy machine may take seconds to open. */
export const PATIENCE = { DATABASE_POOL_WAIT_MS: '20000' };
