import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { serviceUrl, TEMPLATE_DATABASE, urlOfDatabase } from './database-urls';
import { schemaConfig } from './schema-config';

/** Identifies the template among the advisory locks of the server. */
const TEMPLATE_LOCK = 4_711;

/** Set in a spec file that knows that the template exists. */
const READY_VARIABLE = 'ANIMAL_STORE_TEST_TEMPLATE_READY';

/** Creates the migrated database that specs clone, unless it exists. The global set-up cannot import the service. */
export async function ensureTemplate(adminUrl: string, ownership: string): Promise<void> {
  if (process.env[READY_VARIABLE] === adminUrl) return;
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE_DATABASE]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE} ${ownership}`);
      await migrate(schemaConfig(serviceUrl(urlOfDatabase(adminUrl, TEMPLATE_DATABASE))));
    }
  } finally {
    await client.end();
  }
  process.env[READY_VARIABLE] = adminUrl;
}
