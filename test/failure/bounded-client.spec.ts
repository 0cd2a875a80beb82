import { Pool } from 'pg';
import { BoundedClient } from '../../src/database/bounded-client';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';
import { startCuttingProxy } from './support/cutting-proxy';
import { query } from './support/own-server';

describe('a connection that did not answer in time', () => {
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

  /** On a connection of its own: within a transaction the view stays as it was first read. */
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
    'ends, and what it asked for ends in the server, which %s and has no limit of its own',
    async (_how, text) => {
      await database.query('BEGIN');
      await database.query('LOCK TABLE pets');
      const client = await pool.connect();
      await client.query('BEGIN');
      await expect(client.query(text)).rejects.toThrow('Query read timeout');
      // A transaction is rolled back by its end, and does not wait for an answer again.
      await expect(client.query('ROLLBACK')).rejects.toThrow('not queryable');
      client.release();
      await until(async () => (await running()).length === 0);
      await database.query('COMMIT');
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    },
  );

  it('ends where nobody is at the other end any more, too', async () => {
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
});

/** One connection, as the service makes them, that waits less long. */
function poolOn(connectionString: string): Pool {
  const options = { Client: BoundedClient, connectionString, query_timeout: 200, max: 1 };
  return new Pool(options);
}
