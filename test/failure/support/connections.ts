import { Client, DatabaseError } from 'pg';
import { query } from './own-server';

/** Returns the number of connections for ordinary roles. */
export async function slotsOf(url: string): Promise<number> {
  const sql = `SELECT sum(CASE name WHEN 'max_connections' THEN 1 ELSE -1 END * setting::int)::int AS slots
    FROM pg_settings WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`;
  const [{ slots } = { slots: 0 }] = await query<{ slots: number }>(url, sql);
  return slots;
}

/** Connects, as other clients may do, until the server rejects a connection. */
export async function takeEveryConnection(connectionString: string): Promise<Client[]> {
  const taken: Client[] = [];
  for (;;) {
    const client = new Client({ connectionString });
    client.on('error', () => undefined);
    const rejection: unknown = await client.connect().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (rejection instanceof DatabaseError && rejection.code === '53300') return taken;
    if (rejection !== undefined) throw rejection;
    taken.push(client);
  }
}
