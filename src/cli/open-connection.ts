import type { Client } from 'pg';
import { BoundedClient, START_WAIT_MS } from '../database/data-source';

/** Opens a connection of its own, without a limit for its statements. Close it with `end`. */
export async function openConnection(connectionString: string): Promise<Client> {
  const client = new BoundedClient({ connectionString, connectionTimeoutMillis: START_WAIT_MS });
  await client.connect();
  return client;
}
