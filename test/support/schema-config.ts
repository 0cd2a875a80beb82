import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/config/config';
import type { SchemaConfig } from '../../src/database/migrate';

/** The store's migrations, in the order in which they run. */
export const { migrations } = createStore();

/** Returns the configuration of `migrate` for a database, under the default settings. */
export function schemaConfig(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): SchemaConfig {
  return { ...readConfig(environment), databaseUrl, migrations };
}
