import { schemaConfig } from '../support/schema-config';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecret } from '../../src/accounts/secret';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { itWhen } from '../support/it-when';
import { until } from '../support/until';
import { expectUnavailable, isOutcomeUnknown } from './support/expect-unavailable';
import { type OwnServer, query, useOwnServer } from './support/own-server';
import { poolOf } from './support/pool';

const POOL_SIZE = 3;
const without = { key: undefined };

describe('a database that responds but cannot do everything', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ databasePoolSize: POOL_SIZE });
    // The migration sets the timeouts of the role for one database, and a cloned database has none.
    await migrate(schemaConfig(app.database.url));
    await app.restart();
  });
  afterAll(() => app.close());

  it('a locked table is 503 after the wait for the lock or for a connection; other tables stay available', async () => {
    const order = { petId: (await app.post('/v1/pets', aNewPet())).json.id };
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE pets');
    const responses = await Promise.all([
      app.get('/v1/pets'),
      app.post('/v1/pets', aNewPet({ name: 'locked' })),
      app.post('/v1/store/orders', order, { headers: { 'idempotency-key': 'locked' } }),
      ...Array.from({ length: 20 }, () => app.get('/v1/pets/1')),
    ]);
    for (const response of responses) expectUnavailable(response);
    expect((await app.get('/v1/store/orders')).json).toEqual([]);
    expect((await app.get('/readyz', without)).status).toBe(200);
    await app.database.query('COMMIT');
    expect((await app.get('/v1/pets?limit=100')).text).not.toContain('locked');
    expect((await app.post('/v1/store/orders', order)).status).toBe(201);
  });

  it('made-up keys with a lookup that hangs leave connections for cached keys; they are 401 when it ends', async () => {
    expect((await app.get('/v1/store/orders')).status).toBe(200);
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE api_keys');
    const guesses = Array.from({ length: 300 }, () =>
      app.get('/v1/pets', { key: createSecret('ask_test_') }),
    );
    expect((await app.get('/v1/store/orders')).status).toBe(200);
    await app.database.query('COMMIT');
    for (const response of await Promise.all(guesses)) expectError(response, 401, 'invalid_api_key');
  });

  it.each(['08006', '25P03', '25P04', '57P01'])(
    '503 for a session that the server ends with %s: of unknown outcome unless a COMMIT was still to come',
    async (state) => {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      // The severity is ERROR and not FATAL: its word depends on the language of the server, so it must not matter.
      await app.database.query(`
        CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'ended' USING ERRCODE = '${state}'; END $$;
        CREATE TRIGGER end_session BEFORE INSERT ON pets EXECUTE FUNCTION end_session();
        CREATE TRIGGER end_session BEFORE INSERT ON store_orders EXECUTE FUNCTION end_session()`);
      const responses = [
        await app.post('/v1/pets', aNewPet()),
        await app.post('/v1/store/orders', { petId }),
      ];
      await app.database.query('DROP FUNCTION end_session CASCADE');
      for (const response of responses) expectUnavailable(response);
      expect(responses.map(isOutcomeUnknown)).toEqual([true, false]);
    },
  );

  it('read-only: writes and /readyz are 503, reads are 200; writes succeed again when it is writable', async () => {
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
    // Open sessions stay read-only, and only the service can close them.
    await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await until(async () => (await app.get('/readyz', without)).status === 200);
    expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
    await admin.end();
  });

  it('a session that became read-only fails one order with 503, and is not used again', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const turned = Array.from({ length: POOL_SIZE }, () => poolOf(app).query(TURN_READ_ONLY));
    await Promise.all(turned);
    const statuses: number[] = [];
    do statuses.push((await app.post('/v1/store/orders', { petId })).status);
    while (statuses.at(-1) === 503 && statuses.length <= POOL_SIZE);
    expect([statuses[0], statuses.at(-1)]).toEqual([503, 201]);
  });
});

const TURN_READ_ONLY = 'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY';

/** Mounts a small file system. @returns undefined if this process may not mount */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0777', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

describe('a full disk', () => {
  const disk = mountSmallDisk();
  let server: OwnServer | undefined;
  let app: TestApp | undefined;
  afterAll(async () => {
    await app?.close();
    await server?.remove();
    if (disk === undefined) return;
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  itWhen(disk !== undefined, 'it mounts a tmpfs, which needs root')(
    'is 503 for writes that need space; reads are 200, and writes succeed again when there is space',
    async () => {
      server = await useOwnServer();
      app = await startApp({ databasePoolSize: POOL_SIZE });
      const { database } = app;
      const space = join(disk!, 'space');
      mkdirSync(space);
      chmodSync(space, 0o777);
      execFileSync('chown', ['--reference', new URL(database.url).searchParams.get('host')!, space]);
      await query(server.adminUrl(), `CREATE TABLESPACE small LOCATION '${space}'`);
      await query(server.adminUrl(), 'GRANT CREATE ON TABLESPACE small TO PUBLIC');
      await query(database.url, 'ALTER TABLE pets SET TABLESPACE small');
      await query(database.url, 'CREATE TABLE ballast (bytes text STORAGE PLAIN) TABLESPACE small');
      await expect(fill(database.url)).rejects.toMatchObject({ code: '53100' });
      let response = await app.post('/v1/pets', aNewPet());
      for (let tries = 0; response.status === 201 && tries < 2_000; tries += 1) {
        response = await app.post('/v1/pets', aNewPet({ name: 'x'.repeat(255) }));
      }
      expectUnavailable(response);
      expectUnavailable(
        await app.post('/v1/pets', aNewPet({ name: 'y'.repeat(255) }), {
          headers: { 'idempotency-key': 'full' },
        }),
      );
      expect((await app.get('/v1/pets')).status).toBe(200);
      await query(database.url, 'TRUNCATE ballast');
      expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
      await query(database.url, 'ALTER TABLE pets SET TABLESPACE pg_default');
      await query(database.url, 'DROP TABLE ballast');
      await query(server.adminUrl(), 'DROP TABLESPACE small');
    },
  );
});

/** Fills the disk until no further page fits. */
async function fill(url: string): Promise<void> {
  for (const count of [1_000, 100, 10, 1]) {
    const error = await fillBy(url, count);
    if (count === 1) throw error;
  }
}

async function fillBy(url: string, count: number): Promise<unknown> {
  try {
    for (;;) {
      await query(url, `INSERT INTO ballast SELECT repeat('x', 7000) FROM generate_series(1, ${count})`);
    }
  } catch (error) {
    return error;
  }
}
