import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { readConfig } from '../../src/config/config';
import { type EmbeddedServer, startEmbedded } from '../../src/database/embedded';
import { migrate } from '../../src/database/migrate';
import { ADMIN_URL_VARIABLE, POOLER_URL_VARIABLE, TEMPLATE_DATABASE, urlOfDatabase } from './database';
import { type PgBouncer, startPgBouncer } from './pgbouncer';

declare global {
  var embeddedTestServer: { server: EmbeddedServer; directory: string } | undefined;
  var testPooler: PgBouncer | undefined;
}

/**
 * One server for the whole run (or that of TEST_DATABASE_URL), and on it one migrated database to clone. With
 * TEST_POOLER=pgbouncer the service reaches it through a PgBouncer in transaction mode.
 */
export default async function setUp(): Promise<void> {
  const adminUrl = process.env['TEST_DATABASE_URL'] ?? (await startServer());
  process.env[ADMIN_URL_VARIABLE] = adminUrl;
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE}`);
  await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  await client.end();
  await migrate({ ...readConfig({}), databaseUrl: urlOfDatabase(adminUrl, TEMPLATE_DATABASE) });
  if (process.env['TEST_POOLER'] !== 'pgbouncer') return;
  globalThis.testPooler = await startPgBouncer(adminUrl);
  process.env[POOLER_URL_VARIABLE] = globalThis.testPooler.url('postgres');
}

async function startServer(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'animal-store-test-'));
  const server = await startEmbedded({
    dataDir: directory,
    dataDirIsExplicit: true,
    binDir: undefined,
    durable: false,
  });
  globalThis.embeddedTestServer = { server, directory };
  return server.url();
}
