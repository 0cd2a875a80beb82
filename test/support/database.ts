import { randomUUID } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';
import { readConfig } from '../../src/platform/config/config';
import { migrate } from '../../src/platform/database/migrate';

export const TEMPLATE_DATABASE = 'animal_store_template';

/** The environment variable with the server's URL, from the global set-up to the workers. */
export const ADMIN_URL_VARIABLE = 'ANIMAL_STORE_TEST_ADMIN_URL';

/** The variable with the role of the service, if it is not the administrator's. */
export const SERVICE_ROLE_VARIABLE = 'ANIMAL_STORE_TEST_SERVICE_ROLE';

/** The variable with the URL of the PgBouncer, if the run has one. */
export const POOLER_URL_VARIABLE = 'ANIMAL_STORE_TEST_POOLER_URL';

/** Returns true if the service connects through PgBouncer in transaction mode. */
export function isPooled(): boolean {
  return process.env[POOLER_URL_VARIABLE] !== undefined;
}

/** The database of one spec file, cloned from the migrated template. */
export interface TestDatabase {
  /** The URL for the service. */
  readonly url: string;
  /** The URL without the pooler. */
  readonly directUrl: string;
  /** Runs one statement outside the service, with the service's role. */
  query<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]>;
  /** Runs statements as the administrator, a superuser. */
  administer(text: string): Promise<void>;
  drop(): Promise<void>;
}

/** Creates the migrated database, the template of the others. */
export async function createTemplate(adminUrl: string): Promise<void> {
  await once(adminUrl, `DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE}`);
  await once(adminUrl, `CREATE DATABASE ${TEMPLATE_DATABASE} ${ownership()}`);
  const databaseUrl = serviceUrl(urlOfDatabase(adminUrl, TEMPLATE_DATABASE));
  await migrate({ ...readConfig({}), databaseUrl });
}

/** @param template undefined for an empty database */
export async function createDatabase(
  template: string | undefined = TEMPLATE_DATABASE,
): Promise<TestDatabase> {
  const adminUrl = process.env[ADMIN_URL_VARIABLE] ?? '';
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const origin = template === undefined ? '' : `TEMPLATE ${template}`;
  // Writing every page to the write-ahead log as well, the default, takes twice the processor time.
  await once(adminUrl, `CREATE DATABASE ${name} ${origin} STRATEGY FILE_COPY ${ownership()}`);
  const directUrl = serviceUrl(urlOfDatabase(adminUrl, name));
  const client = new Client({ connectionString: directUrl });
  // A spec may terminate this session on purpose.
  client.on('error', () => undefined);
  await client.connect();
  return {
    url: urlOfDatabase(process.env[POOLER_URL_VARIABLE] ?? serviceUrl(adminUrl), name),
    directUrl,
    query: async <Row extends QueryResultRow>(text: string, parameters: unknown[] = []) =>
      (await client.query<Row>(text, parameters)).rows,
    administer: (text) => once(urlOfDatabase(adminUrl, name), text),
    drop: async () => {
      await client.end().catch(() => undefined);
      await once(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** Creates a database with this timeout for the service's statements, instead of six seconds. */
export async function createImpatientDatabase(queryTimeoutMs: number): Promise<TestDatabase> {
  const database = await createDatabase();
  const url = new URL(database.url);
  url.searchParams.set('query_timeout', String(queryTimeoutMs));
  return { ...database, url: url.href };
}

/** Returns the URL with the service's role. */
export function serviceUrl(adminUrl: string): string {
  const parsed = new URL(adminUrl);
  parsed.username = process.env[SERVICE_ROLE_VARIABLE] ?? parsed.username;
  return parsed.href;
}

function ownership(): string {
  const role = process.env[SERVICE_ROLE_VARIABLE];
  return role === undefined ? '' : `OWNER ${role}`;
}

export function urlOfDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}

async function once(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Connects to the server, outside every database under test. */
export async function connectAdmin(): Promise<Client> {
  const client = new Client({ connectionString: process.env[ADMIN_URL_VARIABLE] ?? '' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
