import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbedded } from '../embedded-postgres';

/** A database for one store or one check. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A PostgreSQL server that several test stores can share, each with a database of its own. */
export interface TestServer {
  createDatabase(): Promise<TestDatabase>;
  close(): Promise<void>;
}

/** Starts an embedded PostgreSQL in a temporary folder, which `close` removes. */
export async function startTestServer(): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-testing-'));
  const server = await startEmbedded({
    dataDir: directory,
    binDir: undefined,
    durable: false,
  });
  return {
    createDatabase: () => createDatabase((name) => server.url(name)),
    close: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createDatabase(urlOf: (name?: string) => string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await run(urlOf(), `CREATE DATABASE ${name} STRATEGY FILE_COPY`);
  return { url: urlOf(name), drop: () => run(urlOf(), `DROP DATABASE ${name} WITH (FORCE)`) };
}

/** Runs one statement on a connection of its own. */
async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
