import { Pool } from 'pg';
import { BoundedClient } from '../../src/platform/database/bounded-client';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';
import { startCuttingProxy } from './support/cutting-proxy';
import { query } from './support/own-server';

describe('a connection after a query timeout', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeEach(async () => {
    database = await createDatabase();
    pool = poolOn(database.url);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  /** On a connection of its own, because a transaction keeps its first snapshot of the view. */
  const running = () =>
    query(
      database.url,
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
    );

  it.each([
    ['works', 'SELECT pg_sleep(60)'],
    ['waits for a lock', 'LOCK TABLE pets'],
  ])(
    'is closed, and its statement ends in the server, which %s and has no timeout of its own',
    async (_how, text) => {
      await database.query('BEGIN');
      await database.query('LOCK TABLE pets');
      const client = await pool.connect();
      await client.query('BEGIN');
      await expect(client.query(text)).rejects.toThrow('Query read timeout');
      // The end of the connection rolls the transaction back; ROLLBACK does not wait for a second timeout.
      await expect(client.query('ROLLBACK')).rejects.toThrow('not queryable');
      client.release();
      await until(async () => (await running()).length === 0);
      await database.query('COMMIT');
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    },
  );

  it('is closed if the server does not respond at all', async () => {
    const proxy = await startCuttingProxy(database.url);
    const through = poolOn(proxy.through(database.url));
    await through.query('SELECT 1');
    proxy.isSilent = true;
    await expect(through.query('SELECT 1')).rejects.toThrow('Query read timeout');
    proxy.isSilent = false;
    expect((await through.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await through.end();
    await proxy.close();
  });

  it('ends where the server can no longer be reached to cancel what it asked for, too', async () => {
    const proxy = await startCuttingProxy(database.url);
    const through = poolOn(proxy.through(database.url));
    const client = await through.connect();
    proxy.isSilent = true;
    proxy.refuse();
    await expect(client.query('SELECT 1')).rejects.toThrow('Query read timeout');
    client.release();
    await expect(through.connect()).rejects.toThrow('ECONNREFUSED');
    // `close` resets, and Node cannot reset what the other side has ended.
    proxy.end();
    await through.end();
    await proxy.close();
  });
});

describe('a prepared statement that the server rejects', () => {
  it('is prepared under another name the next time: PgBouncer rejects the first name', async () => {
    const database = await createDatabase();
    const client = new BoundedClient({ connectionString: database.directUrl });
    await client.connect();
    const prepared = { name: 'prepared', text: 'SELECT count(*)::integer AS count FROM missing' };
    for (let tries = 0; tries < 2; tries += 1) {
      await expect(client.query(prepared)).rejects.toMatchObject({ code: '42P01' });
    }
    await client.query('CREATE TEMP TABLE missing ()');
    for (let tries = 0; tries < 2; tries += 1) {
      expect((await client.query(prepared)).rows).toEqual([{ count: 0 }]);
    }
    expect((await client.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([
      { name: 'prepared 2' },
    ]);
    await client.end();
    await database.drop();
  });
});

/** Returns a pool of one connection like the service's, with a shorter timeout. */
function poolOn(connectionString: string): Pool {
  const options = { Client: BoundedClient, connectionString, query_timeout: 200, max: 1 };
  return new Pool(options);
}
