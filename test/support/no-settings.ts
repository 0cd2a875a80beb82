import { settings } from '../../src/platform/config/settings';

const variables = [...Object.values(settings).map(({ variable }) => variable), 'ANIMAL_STORE_KEY'];

/** Every variable of the service, empty: neither the shell of the developer nor a file .env decides what a spec does. */
export const NO_SETTINGS: Readonly<Record<string, string>> = Object.fromEntries(
  variables.map((variable) => [variable, '']),
);
