import { Client, DatabaseError } from 'pg';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { holdTimers, pass, passUntil } from '../support/timers';
import { until } from '../support/until';
import { expectUnavailable } from './support/expect-unavailable';
import { type OwnServer, query, useOwnServer } from './support/own-server';

const POOL_SIZE = 4;
const without = { key: undefined };

describe('while PostgreSQL is unavailable', () => {
  let server: OwnServer;
  let app: TestApp;
  beforeAll(async () => {
    server = await useOwnServer();
    holdTimers();
    app = await startApp({ databasePoolSize: POOL_SIZE });
  });
  // A failed spec may have left the server stopped.
  beforeEach(async () => {
    await server.start();
    await expectBack();
  });
  afterAll(async () => {
    await app.close();
    jest.useRealTimers();
    await server.remove();
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
    expect(await app.get('/readyz', without)).toMatchObject({ status: 503 });
    expect(await app.get('/livez', without)).toMatchObject({ status: 200 });
  }

  async function expectBack(): Promise<void> {
    await until(async () => (await app.get('/readyz', without)).status === 200);
    expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
    expect((await app.get('/v1/pets')).status).toBe(200);
  }

  it.each([
    ['stopped', () => server.stop()],
    ['killed', () => server.kill()],
  ])(
    '%s: 503 for every operation and /readyz; the API works again when PostgreSQL runs',
    async (_how, end) => {
      await end();
      await expectAway();
      await server.start();
      await expectBack();
    },
  );

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

  it('each background task logs one warning, and works again when PostgreSQL runs', async () => {
    const rowsOf = (table: string) => query(app.database.url, `SELECT FROM ${table}`);
    await query(app.database.url, EXPIRED_ROWS);
    await app.get('/v1/pets');
    await server.stop();
    const before = app.log.length;
    pass({ seconds: 60 });
    await until(() => WARNINGS.every((text) => app.log.slice(before).some((line) => line.includes(text))));
    expect(await app.get('/livez', without)).toMatchObject({ status: 200 });
    await server.start();
    await passUntil(async () => (await rowsOf('rate_limit_counters WHERE owner = $$old$$')).length === 0);
    pass({ seconds: 60 });
    await until(
      async () => (await rowsOf('idempotency_keys WHERE created_at < $$2021-01-01$$')).length === 0,
    );
    for (const text of WARNINGS)
      expect(app.log.slice(before).filter((line) => line.includes(text))).toHaveLength(1);
  });

  it('a request on a terminated session is 503 or succeeds, and the next requests succeed', async () => {
    for (let round = 0; round < 20; round += 1) {
      const asked = askAll();
      await query(server.url(), END_SESSIONS);
      for (const response of await asked) {
        expect([200, 201, 404, 409, 503]).toContain(response.status);
        if (response.status === 503) expectUnavailable(response);
      }
    }
    await expectBack();
  });

  it('503 if other clients hold every connection; the service uses the first one that is released', async () => {
    const others: Client[] = [];
    const slots = await slotsOf(server.url());
    try {
      // END_SESSIONS misses sessions that hold a slot and are still starting, so the slots are counted.
      do others.push(...(await takeEveryConnection(server.url())));
      while ((await others[0]!.query(END_SESSIONS)).rows.length > 0 || others.length < slots);
      await expectAway();
      await others.pop()?.end();
      // It is the only connection, and the background tasks use it, too.
      await until(async () => (await app.post('/v1/pets', aNewPet())).status === 201);
    } finally {
      await Promise.all(others.map((other) => other.end()));
    }
  });
});

const WARNINGS = ['Old idempotency keys cannot be deleted', 'The rate-limit counters cannot be saved'];

/** More idempotency keys than one batch deletes. */
const EXPIRED_ROWS = `
  INSERT INTO rate_limit_counters VALUES ('old', 1, '2020-01-01Z', 1, '2020-01-01Z');
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, 2500) AS n`;

const END_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test\\_%'`;

/** Returns the number of connections for ordinary roles. */
async function slotsOf(url: string): Promise<number> {
  const sql = `SELECT sum(CASE name WHEN 'max_connections' THEN 1 ELSE -1 END * setting::int)::int AS slots
    FROM pg_settings WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`;
  const [{ slots } = { slots: 0 }] = await query<{ slots: number }>(url, sql);
  return slots;
}

/** Connects, as other clients may do, until the server rejects a connection. */
async function takeEveryConnection(connectionString: string): Promise<Client[]> {
  const taken: Client[] = [];
  for (;;) {
    const client = new Client({ connectionString });
    client.on('error', () => undefined);
    const rejection: unknown = await client.connect().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (rejection instanceof DatabaseError && rejection.code === '53300') return taken;
    if (rejection !== undefined) throw rejection;
    taken.push(client);
  }
}
