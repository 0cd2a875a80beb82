import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE, SERVICE_ROLE_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import { MAX_START_MS } from '../support/service';
import { until } from '../support/until';

// Its server has a first start.
jest.setTimeout(2 * MAX_START_MS);

const OTHERS = {
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  extra_float_digits: '-15',
  IntervalStyle: 'iso_8601',
  array_nulls: 'off',
  client_encoding: 'LATIN1',
  synchronous_commit: 'off',
  idle_session_timeout: '5000',
  'animal_store.events': 'off',
};
type Case = readonly [place: string, settings: Readonly<Record<string, string>>];
/** From the weakest place to the strongest. */
const CASES: readonly Case[] = [
  ['ALTER SYSTEM', { DateStyle: 'German', default_transaction_isolation: 'repeatable read' }],
  ['ALTER DATABASE %', { DateStyle: 'SQL, DMY', bytea_output: 'escape' }],
  ['ALTER ROLE app', { DateStyle: 'Postgres, MDY', default_transaction_isolation: 'serializable' }],
  ['ALTER ROLE app IN DATABASE %', { ...OTHERS, DateStyle: 'German' }],
];

describe('a session has the settings of the service', () => {
  let server: OwnServer;
  let app: TestApp;
  let expired: string;
  let revoked: string;
  beforeAll(async () => {
    server = await startOwnServer();
    // This file creates its database on it.
    process.env[ADMIN_URL_VARIABLE] = server.adminUrl();
    process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
    const database = await createDatabase();
    // The database is deleted with its server.
    app = await startApp({}, { database: { ...database, drop: () => Promise.resolve() } });
    const { id, key } = await app.createKey();
    revoked = key;
    await app.database.query('UPDATE api_keys SET revoked_at = $1 WHERE id = $2', [
      new Date(app.clock.now()),
      id,
    ]);
    expired = (await app.createKey({ expiresAt: new Date(app.clock.now() + 1_000) })).key;
    app.clock.advance({ seconds: 10 });
  });
  afterAll(async () => {
    await app.close();
    await server.remove();
  });

  /** Changes a default of the server, the database or the role, and ends the sessions of the service. */
  async function change(place: string, ...changes: string[]): Promise<void> {
    const name = new URL(app.database.directUrl).pathname.slice(1);
    const command = place.replace('app', APP_ROLE).replace('%', name);
    for (const each of changes) await query(server.adminUrl(), `${command} ${each}`);
    if (place === 'ALTER SYSTEM') {
      const loaded = 'SELECT pg_conf_load_time()::text AS at';
      const [before] = await query(server.adminUrl(), loaded);
      await query(server.adminUrl(), 'SELECT pg_reload_conf()');
      await until(async () => (await query(server.adminUrl(), loaded))[0]?.['at'] !== before?.['at']);
    }
    const before = clientsOf(app);
    await until(async () => {
      // A session that is being opened has no row yet. The others have ended before a request gets one of them.
      await query(
        server.adminUrl(),
        `SELECT pg_terminate_backend(pid, ${MAX_START_MS}) FROM pg_stat_activity WHERE usename = '${APP_ROLE}'`,
      );
      return clientsOf(app).every((client) => !before.includes(client));
    });
    expect((await app.get('/readyz', { key: undefined })).status).toBe(200);
    // Keys are read again.
    app.clock.advance({ seconds: 10 });
  }

  it.each(CASES)('despite %s SET %j', async (place, settings) => {
    await change(place, ...Object.entries(settings).map(([name, value]) => `SET ${name} = '${value}'`));
    const pet = await app.post('/v1/pets', aNewPet({ name: 'Zoë 🐈' }));
    expect([pet.status, pet.json.name]).toEqual([201, 'Zoë 🐈']);
    const statuses = [];
    for (const key of [revoked, expired]) statuses.push((await app.get('/v1/pets', { key })).json.code);
    const orders = await Promise.all(
      Array.from({ length: 6 }, () => app.post('/v1/store/orders', { petId: pet.json.id })),
    );
    const other = (await app.post('/v1/pets', aNewPet())).json.id;
    const updates = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        app.send('PATCH', `/v1/pets/${other}`, { body: { name: `name ${at}` } }),
      ),
    );
    expect(statuses).toEqual(['revoked_api_key', 'expired_api_key']);
    expect(orders.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 409, 409, 409, 409, 409,
    ]);
    expect(updates.map(({ status }) => status)).toEqual(updates.map(() => 200));
    expect((await app.get('/v1/events')).status).toBe(200);
    const shown = { synchronous_commit: 'on', idle_session_timeout: '0', 'animal_store.events': 'on' };
    for (const [name, value] of Object.entries(shown))
      expect((await poolOf(app).query(`SHOW ${name}`)).rows).toEqual([{ [name]: value }]);
    await change(place, ...Object.keys(settings).map((name) => `RESET ${name}`));
  });

  it('but keeps a stronger synchronous_commit', async () => {
    await change('ALTER ROLE app', 'SET synchronous_commit = remote_apply');
    expect((await poolOf(app).query('SHOW synchronous_commit')).rows).toEqual([
      { synchronous_commit: 'remote_apply' },
    ]);
    await change('ALTER ROLE app', 'RESET synchronous_commit');
  });
});

function clientsOf(app: TestApp): readonly unknown[] {
  // oxlint-disable-next-line eslint/no-underscore-dangle
  return (poolOf(app) as unknown as { _clients: unknown[] })._clients;
}
