import { Agent } from 'node:http';
import { query } from '../../failure/support/own-server';
import { send } from '../../support/http';

/** Expects the counts of getInventory and those of the table to be equal. */
export async function expectInventory(url: string, key: string, databaseUrl: string): Promise<void> {
  const rows = await query<{ status: string; count: number }>(
    databaseUrl,
    'SELECT status, count(*)::float8 AS count FROM pets GROUP BY status',
  );
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  const none = { available: 0, pending: 0, sold: 0 };
  // A new connection: a killed service has closed the earlier ones.
  const { json } = await send(url, 'GET', '/v1/store/inventory', { key, agent: new Agent() });
  expect(json).toEqual({ ...none, ...counts });
}
