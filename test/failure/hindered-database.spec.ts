import { readConfig } from '../../src/config/config';
import { migrate } from '../../src/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin } from '../support/database';
import { aNewPet } from '../support/factories';
import { until } from '../support/until';
import { expectUnavailable } from './support/expect-unavailable';

const without = { key: undefined };

describe('a database that answers but cannot do everything', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ databasePoolSize: 3 });
    // The limits of the role are its settings in one database, and a clone has none.
    await migrate({ ...readConfig({}), databaseUrl: app.database.url });
    await app.restart();
  });
  afterAll(() => app.close());

  it('a locked table is 503 after the wait for a lock, or for one of the connections that wait for it; what does not need it goes on', async () => {
    const order = { petId: (await app.post('/v1/pets', aNewPet())).json.id };
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE pets');
    const answers = await Promise.all([
      app.get('/v1/pets'),
      app.post('/v1/pets', aNewPet({ name: 'locked' })),
      app.post('/v1/store/orders', order, { headers: { 'idempotency-key': 'locked' } }),
      ...Array.from({ length: 20 }, () => app.get('/v1/pets/1')),
    ]);
    for (const answer of answers) expectUnavailable(answer);
    expect((await app.get('/v1/store/orders')).json).toEqual([]);
    expect((await app.get('/readyz', without)).status).toBe(200);
    await app.database.query('COMMIT');
    expect((await app.get('/v1/pets?limit=100')).text).not.toContain('locked');
    expect((await app.post('/v1/store/orders', order)).status).toBe(201);
  });

  it('read-only: writes are 503 and /readyz too, reads are answered; writes again as soon as it can be written, on the same connections or others', async () => {
    const name = new URL(app.database.url).pathname.slice(1);
    const admin = await connectAdmin();
    const endSessions = () =>
      admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await endSessions();
    await until(async () => (await app.get('/v1/pets')).status === 200);
    expectUnavailable(await app.post('/v1/pets', aNewPet()));
    expectUnavailable(await app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': 'read-only' } }));
    expect((await app.get('/readyz', without)).status).toBe(503);
    expect((await app.get('/livez', without)).status).toBe(200);
    // The sessions that are open stay read-only; nobody ends them from outside.
    await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await until(async () => (await app.get('/readyz', without)).status === 200);
    expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
    await admin.end();
  });
});
