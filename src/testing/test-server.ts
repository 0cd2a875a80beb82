import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../embedded-postgres';
import { openConnection } from '../platform/database/data-source';

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
  const dataDir = await mkdtemp(join(tmpdir(), 'animal-store-testing-'));
  const server = await startEmbedded({ dataDir, durable: false });
  const run = async (statement: string): Promise<void> => {
    const client = await openConnection(server.url());
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  return {
    createDatabase: async () => {
      const name = `test_${randomUUID().replaceAll('-', '')}`;
      await run(`CREATE DATABASE ${name} STRATEGY FILE_COPY`);
      return { url: server.url(name), drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`) };
    },
    close: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
