import { schemaConfig } from '../support/schema-config';
import { createSecret } from '../../src/auth/keys/secret';
import { migrate } from '../../src/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, END_OTHER_SESSIONS } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { createPatientDatabase } from '../support/patience';
import { holdTimers } from '../support/timers';
import { until } from '../support/until';
import { expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { emptyPool, poolOf } from './support/pool';

const POOL_SIZE = 3;
const without = { key: undefined };

describe('a database that responds but cannot do everything', () => {
  let app: TestApp;
  beforeAll(async () => {
    // Periodic work would find sessions that a request must find.
    holdTimers();
    const database = await createDatabase();
    // The migration sets the timeouts of the role for one database, and a cloned database has none.
    await migrate(schemaConfig(database.url));
    app = await startApp({ databasePoolSize: POOL_SIZE }, { database });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  async function whileLocked(table: string, act: () => Promise<void>, { database } = app): Promise<void> {
    await database.query(`BEGIN; LOCK TABLE ${table}`);
    try {
      await act();
    } finally {
      await database.query('COMMIT');
    }
  }

  it('a locked table is 503, with a warning, after the wait for the lock or DATABASE_POOL_WAIT_MS for a connection; other tables stay available', async () => {
    const { key } = await app.createKey();
    const order = { petId: (await app.post('/v1/pets', aNewPet())).json.id };
    const settings = { databasePoolSize: POOL_SIZE, databasePoolWaitMs: 2_000 };
    const impatient = await startApp(settings, { beside: app });
    await whileLocked('pets', async () => {
      const responses = await Promise.all([
        impatient.get('/v1/pets', { key }),
        impatient.post('/v1/pets', aNewPet({ name: 'locked' }), { key }),
        impatient.post('/v1/store/orders', order, { key, headers: { 'idempotency-key': 'locked' } }),
        ...Array.from({ length: 20 }, () => impatient.get('/v1/pets/1', { key })),
      ]);
      for (const response of responses) expectUnavailable(response);
      const lines = impatient.log.filter((line) => line.includes('request failed: dependency unavailable'));
      expect(lines).toHaveLength(responses.length);
      expect((await impatient.get('/v1/store/orders', { key })).json).toEqual([]);
      expect((await impatient.get('/readyz', without)).status).toBe(200);
    });
    await impatient.close();
    expect((await app.get('/v1/pets?limit=100')).text).not.toContain('locked');
    expect((await app.post('/v1/store/orders', order)).status).toBe(201);
  });

  it('made-up keys with a lookup that hangs leave connections for cached keys; they are 401 when it ends', async () => {
    const database = await createPatientDatabase();
    const patient = await startApp({ databasePoolSize: POOL_SIZE }, { database });
    expect((await patient.get('/v1/store/orders')).status).toBe(200);
    const guesses: Promise<HttpResponse>[] = [];
    const guess = async () => {
      for (let at = 0; at < 100; at += 1)
        guesses.push(patient.get('/v1/pets', { key: createSecret('ask_test_') }));
      expect((await patient.get('/v1/store/orders')).status).toBe(200);
    };
    await whileLocked('api_keys', guess, patient);
    for (const response of await Promise.all(guesses)) expectError(response, 401, 'invalid_api_key');
    await patient.close();
  });

  it.each([
    ['08006', 'ends the session', true],
    ['57P01', 'ends the session', true],
    ['53100', 'has a full disk', false],
    ['42501', 'lacks a right of the role', false],
  ])(
    'writes are 503 with the SQLSTATE %s, the server %s: of unknown outcome (%p) unless a COMMIT was still to come; reads are 200',
    async (state, _reason, isUnknown) => {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      // The severity is ERROR and not FATAL: its word depends on the language of the server, so it must not matter.
      await app.database.query(`
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'failed' USING ERRCODE = '${state}'; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON pets EXECUTE FUNCTION fail();
        CREATE TRIGGER fail BEFORE INSERT ON store_orders EXECUTE FUNCTION fail()`);
      try {
        const responses = [
          await app.post('/v1/pets', aNewPet()),
          await app.post('/v1/store/orders', { petId }),
        ];
        for (const response of responses) expectUnavailable(response);
        expect(responses.map(isOutcomeUnknown)).toEqual([isUnknown, false]);
        expect((await app.get('/v1/pets')).status).toBe(200);
        expect((await app.get('/readyz', without)).status).toBe(200);
      } finally {
        await app.database.query('DROP FUNCTION fail CASCADE');
      }
      expect((await app.post('/v1/store/orders', { petId })).status).toBe(201);
    },
  );

  it.each([
    ['read-only', 'SET default_transaction_read_only = on', 'RESET default_transaction_read_only', 200],
    ['without a free connection', 'CONNECTION LIMIT 0', 'CONNECTION LIMIT 2', 503],
  ])('%s: writes and /readyz are 503 from %s to %s, reads are %i', async (_what, begin, end, reads) => {
    const name = new URL(app.database.url).pathname.slice(1);
    const alter = (change: string) => app.database.query(`ALTER DATABASE ${name} ${change}`);
    try {
      await alter(begin);
      await emptyPool(app, () => app.database.query(END_OTHER_SESSIONS));
      expect((await app.get('/v1/pets')).status).toBe(reads);
      expectUnavailable(await app.post('/v1/pets', aNewPet()));
      expectUnavailable(
        await app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': 'hindered' } }),
      );
      expect((await app.get('/readyz', without)).status).toBe(503);
      expect((await app.get('/livez', without)).status).toBe(200);
    } finally {
      // Open sessions stay read-only, and only the service can close them.
      await alter(end);
    }
    // Background tasks use the only free connection, too: the other one is that of the spec.
    await until(async () => (await app.post('/v1/pets', aNewPet())).status === 201);
    await alter('CONNECTION LIMIT -1');
    expect((await app.get('/readyz', without)).status).toBe(200);
  });

  it('a session that became read-only fails one order with 503, and is not used again', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const turn = 'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY';
    await Promise.all(Array.from({ length: POOL_SIZE }, () => poolOf(app).query(turn)));
    const statuses: number[] = [];
    do statuses.push((await app.post('/v1/store/orders', { petId })).status);
    while (statuses.at(-1) === 503 && statuses.length <= POOL_SIZE);
    expect([statuses[0], statuses.at(-1)]).toEqual([503, 201]);
  });
});
