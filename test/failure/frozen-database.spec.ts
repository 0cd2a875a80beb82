import { startApp, type TestApp } from '../support/app';
import { createImpatientDatabase } from '../support/database';
import { aNewPet } from '../support/factories';
import { until } from '../support/until';
import { expectUnavailable } from './support/expect-unavailable';
import { type OwnServer, query, useOwnServer } from './support/own-server';
import { poolOf } from './support/pool';

const QUERY_TIMEOUT_MS = 1_000;
const POOL_WAIT_MS = 300;
const without = { key: undefined };

describe('while PostgreSQL is frozen', () => {
  let server: OwnServer;
  let app: TestApp;
  beforeAll(async () => {
    server = await useOwnServer();
    const database = await createImpatientDatabase(QUERY_TIMEOUT_MS);
    app = await startApp({ databasePoolSize: 2, databasePoolWaitMs: POOL_WAIT_MS }, { database });
  });
  afterAll(async () => {
    await app.close();
    await server.remove();
  });

  it('503 for requests that have, await or open a connection; afterwards all succeed, and no query still runs', async () => {
    const petId = (await app.post('/v1/pets', aNewPet())).json.id;
    const order = { body: { petId }, headers: { 'idempotency-key': 'frozen' } };
    await Promise.all([app.get('/v1/pets'), app.get('/v1/pets')]);
    const before = await sessions();
    server.freeze();
    const asked = [app.get('/v1/pets'), app.send('POST', '/v1/store/orders', order)];
    await until(() => poolOf(app).idleCount === 0);
    asked.push(app.get('/v1/pets'), app.get('/readyz', without));
    expect((await app.get('/livez', without)).status).toBe(200);
    const [read, write, waiting, ready] = await Promise.all(asked);
    for (const response of [read, write, waiting]) expectUnavailable(response!);
    expect(ready).toMatchObject({ status: 503 });
    expectUnavailable(await app.get('/v1/pets'));
    server.thaw();
    await until(async () => (await app.get('/readyz', without)).status === 200);
    expect((await app.send('POST', '/v1/store/orders', order)).status).toBe(201);
    expect((await app.get('/v1/store/orders')).json).toHaveLength(1);
    await until(async () => (await running()).length === 0);
    // A connection with a query timeout is not used for another request.
    expect((await sessions()).filter((pid) => before.includes(pid))).toEqual([]);
  });

  it('stops without a confirmation of PostgreSQL', async () => {
    const created = await createImpatientDatabase(QUERY_TIMEOUT_MS);
    // Runs after the service has stopped.
    const drop = async () => {
      server.thaw();
      await created.drop();
    };
    const stopping = await startApp({ databasePoolSize: 3 }, { database: { ...created, drop } });
    await until(async () => {
      await stopping.get('/v1/pets/1');
      return (await sessions(stopping)).length > poolOf(stopping).totalCount;
    });
    server.freeze();
    await expect(stopping.close()).resolves.toBeUndefined();
  });

  /** The process ids of the application's sessions. */
  const sessions = async ({ database }: TestApp = app) =>
    (
      await query<{ pid: number }>(
        database.url,
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND usename = current_user AND query NOT LIKE '%pg_stat_activity%' AND query <> ''`,
      )
    ).map(({ pid }) => pid);
  const running = () =>
    query(
      server.url(),
      `SELECT query FROM pg_stat_activity WHERE datname LIKE 'test\\_%' AND state <> 'idle'`,
    );
});
