import { readFileSync, writeFileSync } from 'node:fs';
import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import { migrate } from '../../src/platform/database/migrate';
import { userMessage } from '../../src/app/user-message';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE, SERVICE_ROLE_VARIABLE } from '../support/database-urls';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { itWhen } from '../support/it-when';
import { schemaConfig } from '../support/schema-config';
import { holdTimers, passUntil, passWhile } from '../support/timers';
import { until } from '../support/until';
import { expectUnavailable } from './support/expect-unavailable';
import { type OwnServer, query, startOwnServer } from './support/own-server';
import { emptyPool, poolOf } from './support/pool';
import { mountSmallDisk } from './support/small-disk';

const POOL_SIZE = 4;
const without = { key: undefined };

const disk = mountSmallDisk();

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
    disk?.remove();
  });

  /** Sends every operation that queries the database: more concurrent requests than the pool has connections. */
  const askAll = (): Promise<HttpResponse[]> =>
    Promise.all([
      app.get('/v1/pets'),
      app.get('/v1/pets?status=sold&limit=1'),
      app.get('/v1/pets/1'),
      app.get('/v1/store/orders'),
      app.get('/v1/store/orders/1'),
      app.post('/v1/pets', aNewPet()),
      app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': 'pet' } }),
      app.post('/v1/store/orders', { petId: 1 }),
      app.post('/v1/store/orders', { petId: 1 }, { headers: { 'idempotency-key': 'order' } }),
      app.send('PATCH', '/v1/store/orders/1', { body: { status: 'approved' } }),
    ]);

  async function expectAway(): Promise<void> {
    for (const response of await askAll()) expectUnavailable(response);
    expectError(await app.get('/readyz', without), 503, 'service_unavailable');
    expect(await app.get('/livez', without)).toMatchObject({ status: 200 });
  }

  async function expectBack(): Promise<void> {
    expect((await app.get('/readyz', without)).status).toBe(200);
    expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
    expect((await app.get('/v1/pets')).status).toBe(200);
  }

  it('killed: 503 for every operation and /readyz; the API works again when PostgreSQL runs', async () => {
    // A commit is not written to the disk: a test that ends PostgreSQL needs no durable one.
    await query(server.adminUrl(), 'CHECKPOINT');
    await server.kill();
    await expectAway();
    await server.start();
    await expectBack();
  });

  it('503 for a cached key and for a new key: never 401 for a valid key', async () => {
    const { key: unseen } = await app.createKey();
    await server.stop();
    expectUnavailable(await app.get('/v1/pets'));
    expectUnavailable(await app.get('/v1/pets', { key: unseen }));
    app.clock.advance({ seconds: 60 });
    expectUnavailable(await app.get('/v1/pets'));
    // A malformed key is rejected without the database.
    expect((await app.get('/v1/pets', { key: `${unseen}x` })).status).toBe(401);
    expect((await app.get('/v1/pets', without)).status).toBe(401);
    await server.start();
    expect((await app.get('/v1/pets', { key: unseen })).status).toBe(200);
  });

  it('each background task logs one warning, and one that it works again when PostgreSQL runs', async () => {
    const rowsOf = (table: string) => query(app.database.url, `SELECT FROM ${table}`);
    await query(app.database.url, EXPIRED_ROWS);
    await app.get('/v1/pets');
    const before = app.log.length;
    const logged = (text: string) =>
      WORKS.map((work) => app.log.slice(before).filter((line) => line.includes(`${work} ${text}`)).length);
    await server.stop();
    for (let run = 0; run < 2; run += 1) await app.runDueWork();
    expect(await app.get('/livez', without)).toMatchObject({ status: 200 });
    await server.start();
    for (let run = 0; run < 2; run += 1) await app.runDueWork();
    expect([logged('fails'), logged('works again')]).toEqual([WORKS.map(() => 1), WORKS.map(() => 1)]);
    expect(await rowsOf('rate_limit_counters WHERE owner = $$old$$')).toEqual([]);
    expect(await rowsOf('idempotency_keys WHERE created_at < $$2021-01-01$$')).toEqual([]);
  });

  it('503 if the server has no free connection; the service uses the first one that is released', async () => {
    const name = new URL(app.database.url).pathname.slice(1);
    const allow = (connections: number) =>
      query(server.adminUrl(), `ALTER DATABASE ${name} CONNECTION LIMIT ${connections}`);
    try {
      await allow(0);
      await emptyPool(app, () => query(server.adminUrl(), END_SESSIONS));
      await expectAway();
      await allow(1);
      // It is the only connection, and the background tasks use it, too.
      await until(async () => (await app.post('/v1/pets', aNewPet())).status === 201);
    } finally {
      await allow(-1);
    }
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

  itWhen(disk !== undefined, 'it mounts a tmpfs, which needs root')(
    'with a full disk: 503 for writes that need space, 200 for reads; writes succeed again when there is space',
    async () => {
      const full = await disk!.fill(server, app.database.url);
      try {
        let response = await app.post('/v1/pets', aNewPet());
        for (let tries = 0; response.status === 201 && tries < 2_000; tries += 1) {
          response = await app.post('/v1/pets', aNewPet({ name: 'x'.repeat(255) }));
        }
        expectUnavailable(response);
        const large = aNewPet({ name: 'y'.repeat(255) });
        expectUnavailable(await app.post('/v1/pets', large, { headers: { 'idempotency-key': 'full' } }));
        expect((await app.get('/v1/pets')).status).toBe(200);
        await full.empty();
        expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
      } finally {
        await full.leave();
      }
    },
  );

  it('the start explains in one sentence that the password is wrong or missing', async () => {
    const [{ hba_file: file } = { hba_file: '' }] = await query<{ hba_file: string }>(
      server.adminUrl(),
      'SHOW hba_file',
    );
    writeFileSync(file, `local all guarded scram-sha-256\n${readFileSync(file, 'utf8')}`);
    await query(server.adminUrl(), 'SELECT pg_reload_conf()');
    await query(server.adminUrl(), `CREATE ROLE guarded LOGIN PASSWORD 'right'`);
    const url = new URL(server.url());
    const failureWith = (password: string) => {
      Object.assign(url, { username: 'guarded', password });
      return migrate(schemaConfig(url.href)).then(() => 'no failure', userMessage);
    };
    expect(await failureWith('')).toMatch(/^The database asks for a password: /);
    expect(await failureWith('wrong')).toMatch(/^The database rejected the password: /);
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
    (
      await query<{ pid: number }>(
        app.database.url,
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

const WORKS = ['The deletion of old idempotency keys', 'The saving of rate-limit counters and bans'];

/** More idempotency keys than one batch deletes. */
const EXPIRED_ROWS = `
  INSERT INTO rate_limit_counters VALUES ('old', 1, '2020-01-01Z', 1, '2020-01-01Z');
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, 2500) AS n`;

const END_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname LIKE 'test\\_%' AND backend_type = 'client backend'`;
