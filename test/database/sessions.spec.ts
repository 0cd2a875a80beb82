import { BoundedClient } from '../../src/database/bounded-client';
import { Sql } from '../../src/database/sql';
import { toApiError } from '../../src/errors/to-api-error';
import { startApp, type TestApp } from '../support/app';
import { createImpatientDatabase } from '../support/database';
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

  it('that ends between two statements of a transaction is 503, not 500', async () => {
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

  it('that ends while nobody listens to it does not end the process', () => {
    expect(() => new BoundedClient().emit('error', new Error('terminated'))).not.toThrow();
  });

  it('whose statement was given up is used by nobody else, and what it was at is taken back', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    const order = await app.post('/v1/store/orders', { petId });
    expectError(order, 503, 'service_unavailable');
    // Within the transaction of that order the animal would be pending, and another write would be lost with it.
    const kept = await app.post('/v1/pets', aNewPet({ name: 'kept' }));
    expect(kept.status).toBe(201);
    await app.database.query('COMMIT');
    expect((await app.get(`/v1/pets/${petId}`)).json.status).toBe('available');
    expect((await app.post('/v1/store/orders', { petId })).status).toBe(201);
    expect((await app.get(kept.headers['location']!)).json.name).toBe('kept');
  });
});
