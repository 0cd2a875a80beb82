import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE, SERVICE_ROLE_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import { holdTimers, passUntil, passWhile } from '../support/timers';
import { until } from '../support/until';
import { createTwo, expectOutage, expectRecovery, expectUnavailable } from './support/expect-unavailable';
import { once as query } from '../support/once';
import { type OwnServer, startOwnServer } from './support/own-server';
import { poolOf } from './support/pool';

const POOL_SIZE = 4;
const without = { key: undefined };

describe('while PostgreSQL is unavailable', () => {
  let server: OwnServer;
  let app: TestApp;
  beforeAll(async () => {
    server = await startOwnServer();
    // This file creates its databases on it.
    process.env[ADMIN_URL_VARIABLE] = server.adminUrl();
    process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
    holdTimers();
    const database = await createDatabase();
    // The database is deleted with its server.
    const drop = () => Promise.resolve(server.thaw());
    app = await startApp({ databasePoolSize: POOL_SIZE }, { database: { ...database, drop } });
  });
  // A failed spec may have left the server stopped or frozen.
  beforeEach(async () => {
    server.thaw();
    await server.start();
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
    await server.remove();
  });

  it('killed: every operation and /readyz are 503, never 401 for a valid key; all succeed when PostgreSQL runs', async () => {
    const { key: unseen } = await app.createKey();
    const pets = await createTwo(app);
    // A commit is not written to the disk: a test that ends PostgreSQL needs no durable one.
    await query(server.adminUrl(), 'CHECKPOINT');
    await server.kill();
    await expectOutage(app, pets);
    expectUnavailable(await app.get('/v1/pets', { key: unseen }));
    // Until then the other key is cached.
    app.clock.advance({ seconds: 60 });
    expectUnavailable(await app.get('/v1/pets'));
    // A malformed key is rejected without the database.
    expect((await app.get('/v1/pets', { key: `${unseen}x` })).status).toBe(401);
    expect((await app.get('/v1/pets', without)).status).toBe(401);
    await server.start();
    await expectRecovery(app, pets);
    expect((await app.get('/v1/pets', { key: unseen })).status).toBe(200);
  });

  it('frozen: 503 for requests that have, await or open a connection; afterwards all succeed, and no query still runs', async () => {
    const petId = (await app.post('/v1/pets', aNewPet())).json.id;
    const order = { body: { petId }, headers: { 'idempotency-key': 'frozen' } };
    const before = await sessions();
    expect(before).not.toEqual([]);
    holdTimers({ timeouts: true });
    server.freeze();
    const orders = Array.from({ length: POOL_SIZE + 1 }, () => app.send('POST', '/v1/store/orders', order));
    const asked = [app.get('/v1/pets'), ...orders];
    const ready = app.get('/readyz', without);
    expect((await app.get('/livez', without)).status).toBe(200);
    for (const response of await passWhile(Promise.all(asked))) expectUnavailable(response);
    expect(await passWhile(ready)).toMatchObject({ status: 503 });
    expectUnavailable(await passWhile(app.get('/v1/pets')));
    server.thaw();
    expect((await app.get('/readyz', without)).status).toBe(200);
    expect((await app.send('POST', '/v1/store/orders', order)).status).toBe(201);
    // A connection with a query timeout is not used for another request.
    const left = async () => [
      ...(await running()),
      ...(await sessions()).filter((pid) => before.includes(pid)),
    ];
    await until(async () => (await left()).length === 0);
    // The periodic work begins anew with its timers.
    holdTimers();
    await app.restart();
  });

  it('frozen: the service stops without a confirmation of PostgreSQL', async () => {
    await until(async () => {
      await app.get('/v1/pets/1');
      return (await sessions()).length > poolOf(app).totalCount;
    });
    holdTimers({ timeouts: true });
    server.freeze();
    // It is stopped when the server is thawed for the next start.
    let isStopped = false;
    const restarted = app.restart(() => {
      server.thaw();
      holdTimers();
      isStopped = true;
      return Promise.resolve();
    });
    await passUntil(() => isStopped);
    await expect(restarted).resolves.toBeUndefined();
  });

  /** The process ids of the application's sessions. */
  const sessions = async () =>
    (await query<{ pid: number }>(app.database.url, SESSIONS)).map(({ pid }) => pid);
  const running = () =>
    query(
      server.url(),
      `SELECT query FROM pg_stat_activity WHERE datname LIKE 'test\\_%' AND state <> 'idle'`,
    );
});

const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND query NOT LIKE '%pg_stat_activity%' AND query <> ''`;
