import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { Client, DatabaseError, type QueryResultRow } from 'pg';
import { migrate } from '../../src/database/migrate';
import {
  ADMIN_URL_VARIABLE,
  POOLER_URL_VARIABLE,
  SERVICE_ROLE_VARIABLE,
  serviceUrl,
  TEMPLATE_DATABASE,
  urlOfDatabase,
} from './database-urls';
import { schemaConfig } from './schema-config';

/** Identifies the template among the advisory locks of the server. */
const TEMPLATE_LOCK = 4_711;

declare global {
  var adminsOfWorker: Map<string, Promise<Client>> | undefined;
  /** The server that has the template. */
  var templateOfWorker: string | undefined;
}

/** Returns false if the service connects through a PgBouncer without prepared statements. */
export function hasPreparedStatements(): boolean {
  return process.env['TEST_POOLER'] !== 'pgbouncer';
}

/** The database of one spec file, cloned from the migrated template. */
export interface TestDatabase {
  /** The URL for the service. */
  readonly url: string;
  /** The URL without the pooler. */
  readonly directUrl: string;
  /** Runs one statement outside the service, with the service's role. */
  query<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]>;
  /** Empties tables. The periodic work of a running service may have one of them and wait for another one. */
  truncate(tables: string): Promise<void>;
  /** Runs statements as the administrator, a superuser. */
  administer(text: string): Promise<void>;
  drop(): Promise<void>;
}

/** @param template undefined for an empty database */
export async function createDatabase(
  template: string | undefined = TEMPLATE_DATABASE,
): Promise<TestDatabase> {
  const adminUrl = process.env[ADMIN_URL_VARIABLE] ?? '';
  if (template === TEMPLATE_DATABASE) await ensureTemplate(adminUrl);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const origin = template === undefined ? '' : `TEMPLATE ${template}`;
  // Writing every page to the write-ahead log as well, the default, takes twice the processor time.
  await asAdmin(adminUrl, `CREATE DATABASE ${name} ${origin} STRATEGY FILE_COPY ${ownership()}`);
  const directUrl = serviceUrl(urlOfDatabase(adminUrl, name));
  const client = new Client({ connectionString: directUrl });
  // A spec may terminate this session on purpose.
  client.on('error', () => undefined);
  await client.connect();
  let admin: Promise<Client> | undefined;
  return {
    url: urlOfDatabase(process.env[POOLER_URL_VARIABLE] ?? serviceUrl(adminUrl), name),
    directUrl,
    query: async <Row extends QueryResultRow>(text: string, parameters: unknown[] = []) =>
      (await client.query<Row>(text, parameters)).rows,
    truncate: (tables) => truncate(client, tables),
    administer: async (text) => {
      admin ??= connectAdmin(urlOfDatabase(adminUrl, name), () => (admin = undefined));
      await (await admin).query(text);
    },
    drop: async () => {
      await client.end().catch(() => undefined);
      await asAdmin(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** PostgreSQL ends one statement of a deadlock, which may be this one. Its manual asks the program to try again. */
async function truncate(client: Client, tables: string): Promise<void> {
  await client.query(`TRUNCATE ${tables}`).catch(async (error: unknown) => {
    if (!(error instanceof DatabaseError) || error.code !== '40P01') throw error;
    await truncate(client, tables);
  });
}

function ownership(): string {
  const role = process.env[SERVICE_ROLE_VARIABLE];
  return role === undefined ? '' : `OWNER ${role}`;
}

/** Ends the sessions of the service's role in this database, except that of the spec. */
export const END_OTHER_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = current_user`;

/** Connects to the server, outside every database under test. */
export async function connectAdmin(
  connectionString: string = process.env[ADMIN_URL_VARIABLE] ?? '',
  onLoss: () => void = () => undefined,
): Promise<Client> {
  // The process of a worker ends while it is open.
  const client = new Client({ connectionString, stream: () => new Socket().unref() });
  // A spec may terminate all sessions, or stop the server.
  client.on('error', onLoss);
  await client.connect();
  return client;
}

/** Runs a statement on the connection that all spec files of this worker share: a new one takes the server 10 ms. */
async function asAdmin(url: string, statement: string): Promise<void> {
  const admins = (globalThis.adminsOfWorker ??= new Map<string, Promise<Client>>());
  const opening = admins.get(url) ?? connectAdmin(url, () => admins.delete(url));
  admins.set(url, opening);
  await (await opening).query(statement);
}

/** Creates the migrated database that specs clone, unless it exists. The global set-up cannot import the service. */
async function ensureTemplate(adminUrl: string): Promise<void> {
  if (globalThis.templateOfWorker === adminUrl) return;
  const client = await connectAdmin(adminUrl);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE_DATABASE]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE} ${ownership()}`);
      await migrate(schemaConfig(serviceUrl(urlOfDatabase(adminUrl, TEMPLATE_DATABASE))));
    }
  } finally {
    await client.end();
  }
  globalThis.templateOfWorker = adminUrl;
}
