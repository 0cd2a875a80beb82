import { Controller, Get, Module } from '@nestjs/common';
import { Sql } from '../../src';
import { Operation } from '../../src/api/operation/operation.decorator';
import { CONFIG, type Config } from '../../src/config/config';
import { BoundedClient, dataSourceOptions } from '../../src/database/data-source';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { untilWaiting } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { holdMeasuredTime, holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { poolOf, untilShared } from './support/pool';

const LOCK_PETS = 'BEGIN; LOCK TABLE pets';

/** Ends the session of a transaction between two of its statements. */
@Controller('lost')
class LostController {
  constructor(private readonly sql: Sql) {}

  @Get()
  @Operation({
    id: 'getLost',
    summary: 'Lose a session',
    description: 'Loses its session.',
    scope: 'pets:read',
    returns: [204, undefined, 'Never.'],
  })
  get(): Promise<void> {
    return this.sql.transaction(async (transaction) => {
      const [row] = await transaction.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
      await this.sql.rows({ text: 'SELECT pg_terminate_backend($1)' }, [row!.pid]);
      await until(() => transaction.queryRunner!.isReleased);
      await transaction.query('SELECT 1');
    });
  }
}

@Module({ controllers: [LostController] })
class LostModule {}

describe('sessions of the database', () => {
  let app: TestApp;
  afterEach(async () => {
    jest.useRealTimers();
    await app.close();
  });

  it('are at most DATABASE_POOL_SIZE, and a read that hangs delays no later read', async () => {
    holdMeasuredTime();
    app = await startApp({ databasePoolSize: 3 }, { database: await createPatientDatabase() });
    await untilShared(app, () => app.get('/v1/store/orders'));
    await app.database.query(LOCK_PETS);
    const hanging = [app.get('/v1/pets')];
    await untilWaiting(app.database);
    pass({ seconds: 1 });
    expect((await app.get('/v1/store/orders')).status).toBe(200);
    for (let id = 1; id <= 40; id += 1) hanging.push(app.get(`/v1/pets/${id}`));
    await untilWaiting(app.database, 3);
    await app.database.query('COMMIT');
    for (const response of await Promise.all(hanging)) expect([200, 404]).toContain(response.status);
    const sessions = await app.database.query(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    expect(sessions).toHaveLength(3);
  });

  it('that were asked before a renewal whether they are read-only, and are opened after it, are used once', async () => {
    app = await startApp();
    const { extra } = dataSourceOptions({ ...app.nest.get<Config>(CONFIG), databaseUrl: app.database.url });
    const [failing, late] = [new BoundedClient(extra), new BoundedClient(extra)];
    await failing.connect();
    await failing.query('SET default_transaction_read_only = on');
    await expect(failing.query('DELETE FROM pets')).rejects.toThrow('read-only');
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    await late.connect();
    clock.mockRestore();
    await late.query('SELECT 1');
    await expect(late.query('SELECT 1')).rejects.toThrow('not queryable');
  });

  it('have no prepared statements if DATABASE_PREPARED_STATEMENTS is false', async () => {
    app = await startApp({ databasePoolSize: 1, databasePreparedStatements: false });
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    expect((await app.post('/v1/store/orders', { petId })).status).toBe(201);
    expect((await app.get('/v1/pets')).status).toBe(200);
    const prepared = await poolOf(app).query("SELECT FROM pg_prepared_statements WHERE name <> ''");
    expect(prepared.rowCount).toBe(0);
  });

  it('that have lost their prepared statements fail at most one request with 503', async () => {
    app = await startApp({ databasePoolSize: 1 });
    await app.get('/v1/pets');
    await poolOf(app).query('DEALLOCATE ALL');
    expect([200, 503]).toContain((await app.get('/v1/pets')).status);
    expect((await app.get('/v1/pets')).status).toBe(200);
  });

  it('that end between two statements of a transaction make its request 503', async () => {
    app = await startApp({}, { modules: [LostModule] });
    expectError(await app.get('/v1/lost'), 503, 'service_unavailable');
  });

  it('with a timed-out statement are not used again, and their transaction is rolled back', async () => {
    app = await startApp({ databasePoolSize: 1 }, { database: await createPatientDatabase() });
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    holdTimers({ timeouts: true });
    const order = app.post('/v1/store/orders', { petId });
    await untilWaiting(app.database);
    pass({ seconds: 60 });
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

  it('that hang keep later creations waiting for DATABASE_POOL_WAIT_MS; those are 503, and create nothing', async () => {
    app = await startApp({ databasePoolWaitMs: 2_000 }, { database: await createPatientDatabase() });
    await app.database.query(LOCK_PETS);
    const first = app.post('/v1/pets', aNewPet());
    await untilWaiting(app.database);
    expectError(await app.post('/v1/pets', aNewPet()), 503, 'service_unavailable');
    await app.database.query('COMMIT');
    expect((await first).status).toBe(201);
    expect((await app.get('/v1/pets')).json).toHaveLength(1);
  });
});
