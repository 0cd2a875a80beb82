import { BoundedClient } from '../../src/platform/database/bounded-client';
import { Sql } from '../../src/platform/database/sql';
import { toApiError } from '../../src/platform/edge/to-api-error';
import { poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { createImpatientDatabase, hasPreparedStatements } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { until } from '../support/until';

const QUERY_TIMEOUT_MS = 500;

describe('a session of the database', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createImpatientDatabase(QUERY_TIMEOUT_MS);
    app = await startApp({ databasePoolSize: 1 }, { database });
  });
  afterAll(() => app.close());

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

  it('that ends without an error listener does not end the process', () => {
    expect(() => new BoundedClient().emit('error', new Error('terminated'))).not.toThrow();
  });

  it('with a timed-out statement is not used again, and its transaction is rolled back', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    const order = await app.post('/v1/store/orders', { petId });
    expectError(order, 503, 'service_unavailable');
    // In the transaction of that order the animal is pending, and another write would be rolled back with it.
    const kept = await app.post('/v1/pets', aNewPet({ name: 'kept' }));
    expect(kept.status).toBe(201);
    await app.database.query('COMMIT');
    expect((await app.get(`/v1/pets/${petId}`)).json.status).toBe('available');
    expect((await app.post('/v1/store/orders', { petId })).status).toBe(201);
    expect((await app.get(kept.headers['location']!)).json.name).toBe('kept');
  });
});
