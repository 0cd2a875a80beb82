import type { Client } from 'pg';
import { BoundedClient, START_WAIT_MS } from '../database/data-source';

/** Runs `work` on a connection of its own, without a limit for its statements. */
export async function withConnection<T>(
  connectionString: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new BoundedClient({ connectionString, connectionTimeoutMillis: START_WAIT_MS });
  await client.connect();
  try {
    return await work(client);
  } finally {
    // The server rolls back what was not committed.
    await client.end();
  }
}
