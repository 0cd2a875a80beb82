import { randomUUID } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';
import {
  ADMIN_URL_VARIABLE,
  POOLER_URL_VARIABLE,
  SERVICE_ROLE_VARIABLE,
  serviceUrl,
  TEMPLATE_DATABASE,
  urlOfDatabase,
} from './database-urls';
import { once } from './once';
import { ensureTemplate } from './template';

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
  /** Runs statements as the administrator, a superuser. */
  administer(text: string): Promise<void>;
  drop(): Promise<void>;
}

/** @param template undefined for an empty database */
export async function createDatabase(
  template: string | undefined = TEMPLATE_DATABASE,
): Promise<TestDatabase> {
  const adminUrl = process.env[ADMIN_URL_VARIABLE] ?? '';
  if (template === TEMPLATE_DATABASE) await ensureTemplate(adminUrl, ownership());
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

function ownership(): string {
  const role = process.env[SERVICE_ROLE_VARIABLE];
  return role === undefined ? '' : `OWNER ${role}`;
}

/** Connects to the server, outside every database under test. */
export async function connectAdmin(): Promise<Client> {
  const client = new Client({ connectionString: process.env[ADMIN_URL_VARIABLE] ?? '' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
