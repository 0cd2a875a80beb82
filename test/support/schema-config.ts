import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/config/config';
import type { SchemaConfig } from '../../src/database/migrate';

/** The store's migrations, in the order in which they run. */
export const { migrations } = createStore();

/** The migrations of the last release; `npm run openapi:release` writes them. */
export const RELEASED: readonly string[] = JSON.parse(
  readFileSync(join(__dirname, '../database/released.json'), 'utf8'),
);

/** Returns the configuration of `migrate` for a database, under the default settings. */
export function schemaConfig(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): SchemaConfig {
  return { ...readConfig(environment), databaseUrl, migrations };
}
