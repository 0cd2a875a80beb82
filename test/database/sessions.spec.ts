import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { BoundedClient } from '../../src/platform/database/data-source';
import { Sql } from '../../src/platform/database/sql';
import { toApiError } from '../../src/server/http/error.filter';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, hasPreparedStatements, type TestDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { lockWaits } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

/** A statement whose time ends soon. Those of the service have six seconds. */
const brief = (text: string) => ({ text, query_timeout: 200 });

/** Columns that the version before uses while both run. */
const OF_EARLIER_VERSIONS = ['banned_at', 'banned_until', 'unbanned_at'];

describe('a session of the database', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ databasePoolSize: 1 });
  });
  afterAll(() => app.close());

  it('has exactly the columns of the entities, with the same types', async () => {
    const source = app.nest.get(DataSource);
    expect(source.entityMetadatas.length).toBeGreaterThan(2);
    for (const { tableName, columns } of source.entityMetadatas) {
      const stored = columns.filter(({ isVirtualProperty }) => !isVirtualProperty);
      const expected = stored.map(({ databaseName, type, isNullable, isArray }) => ({
        name: databaseName,
        type: isArray ? 'ARRAY' : type === 'timestamptz' ? 'timestamp with time zone' : type,
        nullable: isNullable,
      }));
      const actual = await app.database.query(
        `SELECT column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable
         FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name = $1 AND column_name <> ALL ($2)`,
        [tableName, OF_EARLIER_VERSIONS],
      );
      expect({ tableName, columns: new Set(actual) }).toEqual({ tableName, columns: new Set(expected) });
    }
  });

  it('that ends between two statements of a transaction gives 503, not 500', async () => {
    const sql = app.nest.get(Sql, { strict: false });
    const failure = await sql
      .transaction(async (transaction) => {
        const [row] = await transaction.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
        await app.database.query('SELECT pg_terminate_backend($1)', [row!.pid]);
        await until(() => transaction.queryRunner!.isReleased);
        return transaction.query('SELECT 1');
      })
      .catch(toApiError);
    expect(failure).toMatchObject({ status: 503, code: 'service_unavailable' });
  });

  it('has prepared statements, unless DATABASE_PREPARED_STATEMENTS is false', async () => {
    const settings = { databasePoolSize: 1, databasePreparedStatements: false };
    // On a database of its own: behind PgBouncer the connections to one database share their sessions.
    const other = await startApp(settings);
    for (const each of [app, other]) expect((await each.get('/v1/pets')).status).toBe(200);
    const hasPrepared = async (each: TestApp) =>
      (await poolOf(each).query("SELECT FROM pg_prepared_statements WHERE name <> ''")).rowCount !== 0;
    expect([await hasPrepared(app), await hasPrepared(other)]).toEqual([hasPreparedStatements(), false]);
    await other.close();
  });

  it('that lost its prepared statements gives at most one 503, and is not used again', async () => {
    await app.get('/v1/pets');
    await poolOf(app).query('DEALLOCATE ALL');
    expect([200, 503]).toContain((await app.get('/v1/pets')).status);
    expect((await app.get('/v1/pets')).status).toBe(200);
  });

  it('with a timed-out statement is not used again, and its transaction is rolled back', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    holdTimers({ timeouts: true });
    const order = app.post('/v1/store/orders', { petId });
    await until(async () => (await lockWaits(app.database)).length > 0);
    pass({ seconds: 6 });
    jest.useRealTimers();
    expectError(await order, 503, 'service_unavailable');
    // In the transaction of that order the animal is pending, and another write would be rolled back with it.
    const kept = await app.post('/v1/pets', aNewPet({ name: 'kept' }));
    expect(kept.status).toBe(201);
    await app.database.query('COMMIT');
    expect((await app.get(`/v1/pets/${petId}`)).json.status).toBe('available');
    expect((await app.post('/v1/store/orders', { petId })).status).toBe(201);
    expect((await app.get(kept.headers['location']!)).json.name).toBe('kept');
  });
});

describe('a connection of the pool', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createDatabase();
    pool = poolOn(database.directUrl);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it('is closed after a query timeout: a ROLLBACK does not wait for a second timeout, and the pool opens another one', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await expect(client.query(brief('SELECT pg_sleep(60)'))).rejects.toThrow('Query read timeout');
    await expect(client.query('ROLLBACK')).rejects.toThrow('not queryable');
    client.release();
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it.each([
    ['has lost', 'DEALLOCATE ALL', '26000'],
    ['has already', 'PREPARE p42P05 AS SELECT 1', '42P05'],
  ])(
    'is closed, also within a transaction, if its session %s a prepared statement',
    async (_how, change, code) => {
      const prepared = { name: `p${code}`.toLowerCase(), text: 'SELECT 1' };
      const client = await pool.connect();
      if (code === '26000') await client.query(prepared);
      await client.query(change);
      await client.query('BEGIN');
      await expect(client.query(prepared)).rejects.toMatchObject({ code });
      await expect(client.query('ROLLBACK')).rejects.toThrow('not queryable');
      client.release();
      expect((await pool.query(prepared)).rowCount).toBe(1);
    },
  );

  it('is closed if the server does not respond, or can no longer be reached', async () => {
    const proxy = await startCuttingProxy(database.directUrl);
    const through = poolOn(proxy.through(database.directUrl));
    await through.query('SELECT 1');
    proxy.isSilent = true;
    await expect(through.query(brief('SELECT 1'))).rejects.toThrow('Query read timeout');
    proxy.isSilent = false;
    const client = await through.connect();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    proxy.isSilent = true;
    proxy.refuse();
    await expect(client.query(brief('SELECT 1'))).rejects.toThrow('Query read timeout');
    client.release();
    await expect(through.connect()).rejects.toThrow('ECONNREFUSED');
    // `close` resets, and Node cannot reset what the other side has ended.
    proxy.end();
    await through.end();
    await proxy.close();
  });
});

/** Returns a pool of one connection like the service's. */
function poolOn(connectionString: string): Pool {
  const pool = new Pool({ Client: BoundedClient, connectionString, max: 1 });
  // The server may say that it ends a session before the client has closed it; TypeORM has such listeners, too.
  pool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
