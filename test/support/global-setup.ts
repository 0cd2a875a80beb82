import { chmodSync, mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedServer, startEmbedded } from '../../src/embedded-postgres';
import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import {
  ADMIN_URL_VARIABLE,
  POOLER_URL_VARIABLE,
  SERVICE_ROLE_VARIABLE,
  serviceUrl,
  TEMPLATE_DATABASE,
} from './database-urls';
import { once } from './once';
import { type PgBouncer, startPgBouncer } from './pgbouncer';
import { createServerFolder } from './server-folder';
import { admitAllRoles } from './superuser';

declare global {
  var embeddedTestServer: { server: EmbeddedServer; directory: string } | undefined;
  var testPooler: PgBouncer | undefined;
}

/**
 * Starts one server for the whole run (or uses TEST_DATABASE_URL). With TEST_POOLER the service connects through a
 * PgBouncer in transaction mode: `pgbouncer` has no prepared statements, `pgbouncer-prepared` has them.
 */
export default async function setUp(): Promise<void> {
  process.env['TEST_COMPILED'] = mkdtempSync(join(tmpdir(), 'animal-store-compiled-'));
  // The server's user reads it, too.
  chmodSync(process.env['TEST_COMPILED'], 0o755);
  const adminUrl = process.env['TEST_DATABASE_URL'] ?? (await startServer());
  process.env[ADMIN_URL_VARIABLE] = adminUrl;
  // That of an earlier run on TEST_DATABASE_URL may have another schema.
  await once(adminUrl, `DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE}`);
  const pooler = process.env['TEST_POOLER'];
  if (pooler === undefined) return;
  globalThis.testPooler = await startPgBouncer(serviceUrl(adminUrl), pooler === 'pgbouncer-prepared');
  process.env[POOLER_URL_VARIABLE] = globalThis.testPooler.url('postgres');
}

async function startServer(): Promise<string> {
  const directory = createServerFolder();
  const server = await startEmbedded({
    dataDir: directory,
    durable: false,
    // Each core has a worker, and each worker has several applications with their pools.
    maxConnections: 40 * (1 + availableParallelism()),
  });
  globalThis.embeddedTestServer = { server, directory };
  process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
  return admitAllRoles(server);
}
