import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import { migrate } from '../../src/database/migrate';
import { once as query } from '../support/once';
import { type OwnServer, startOwnServer } from '../failure/support/own-server';
import { emptyPool, poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, END_OTHER_SESSIONS, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE, SERVICE_ROLE_VARIABLE } from '../support/database-urls';
import { aNewPet } from '../support/factories';
import { MAX_START_MS } from '../support/service';
import { startHere } from '../support/start';
import { backup, backupFolder, restore } from './support/backups';
import { configWith, extensionOf, migrationOf } from './support/extensions';

// The server of this file has a first start.
jest.setTimeout(2 * MAX_START_MS);

const OTHERS_SET = {
  array_nulls: 'off',
  client_encoding: 'LATIN1',
  synchronous_commit: 'off',
  idle_session_timeout: '5000',
  jit: 'on',
  default_transaction_isolation: 'serializable',
  'animal_store.events': 'off',
};
type Place = readonly [place: string, settings: Readonly<Record<string, string>>];
/** The weakest place, and the strongest. */
const PLACES: readonly Place[] = [
  ['ALTER ROLE ALL', { DateStyle: 'SQL, DMY', default_transaction_isolation: 'repeatable read' }],
  ['ALTER ROLE app IN DATABASE %', { ...OTHERS_SET, DateStyle: 'German' }],
];

/** PostgreSQL lets PUBLIC call a function, with the rights of the caller. */
const GRANTED = `
  SELECT DISTINCT grantee::regrole::text AS role, name FROM (
    SELECT relname AS name, relowner AS owner, relacl AS acl, true AS all_count FROM pg_class
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT proname, proowner, coalesce(proacl, acldefault('f', proowner)), prosecdef FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
  ) AS objects, aclexplode(acl) WHERE grantee <> owner AND (grantee <> 0 OR all_count) ORDER BY name`;
const DEFAULTS = 'SELECT defaclnamespace, defaclobjtype, defaclacl::text FROM pg_default_acl ORDER BY 1, 2';

const JOURNAL = 'CREATE TABLE journal (id bigint); GRANT SELECT ON journal TO reporting';
const Journal = migrationOf('Journal1795300000000', JOURNAL, 'DROP TABLE journal');
const Again = migrationOf('Again1795300000001', 'DROP TABLE journal; CREATE TABLE journal (id int)', JOURNAL);
const CHANGING = {
  columns: 'GRANT UPDATE (plan), SELECT ON accounts TO columns',
  extension: 'GRANT DELETE ON journal TO extension',
  lists: 'GRANT TRUNCATE ON migrations TO lists',
  members: 'GRANT columns TO members',
  namers: 'GRANT CREATE ON SCHEMA public TO namers',
  numbers: 'GRANT UPDATE ON SEQUENCE pets_id_seq TO numbers',
  recorders: 'GRANT EXECUTE ON FUNCTION record_pet_events TO recorders',
  triggers: 'GRANT TRIGGER ON pets TO triggers',
  views: 'GRANT UPDATE ON numbered_keys TO views',
  writers: 'ALTER ROLE writers LOGIN; GRANT pg_write_all_data TO writers',
};
const OTHERS = {
  readers: 'GRANT SELECT (name) ON pets TO readers',
  backups: 'ALTER ROLE backups LOGIN; GRANT pg_read_all_data TO backups',
  administrators: 'ALTER ROLE administrators LOGIN CREATEROLE; GRANT pg_write_all_data TO administrators',
  counters: 'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO counters',
  owners: `GRANT ${APP_ROLE} TO owners; GRANT ALL ON pets TO owners`,
  roots: 'ALTER ROLE roots SUPERUSER; GRANT ALL ON pets TO roots',
};

let server: OwnServer;
beforeAll(async () => {
  // Some roles of this file have settings or rights in each database of their server.
  server = await startOwnServer();
  const adminUrl = new URL(server.adminUrl());
  // An embedded server sets DateStyle here.
  adminUrl.searchParams.delete('options');
  process.env[ADMIN_URL_VARIABLE] = adminUrl.href;
  process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
});
afterAll(() => server.remove());

describe('a session has the settings of the service', () => {
  let app: TestApp;
  let expired: string;
  let revoked: string;
  beforeAll(async () => {
    app = await startApp();
    const { id, key } = await app.createKey();
    revoked = key;
    expect((await app.send('DELETE', `/v1/keys/${id}`)).status).toBe(200);
    expired = (await app.createKey({ expiresAt: new Date(app.clock.now() + 1_000) })).key;
    app.clock.advance({ seconds: 10 });
  });
  afterAll(() => app.close());

  /** Changes defaults of a role or the database, and ends the sessions of the service. */
  async function change(place: string, changes: readonly string[]): Promise<void> {
    const name = new URL(app.database.directUrl).pathname.slice(1);
    const command = place.replace('app', APP_ROLE).replace('%', name);
    await app.database.administer(changes.map((each) => `${command} ${each}`).join(';'));
    await emptyPool(app, () => app.database.query(END_OTHER_SESSIONS));
    expect((await app.get('/readyz', { key: undefined })).status).toBe(200);
    // Keys are read again.
    app.clock.advance({ seconds: 10 });
  }
  const shown = async (setting: string) =>
    Object.values((await poolOf(app).query(`SHOW ${setting}`)).rows[0]);

  it.each(PLACES)('despite %s SET %j', async (place, settings) => {
    await change(
      place,
      Object.entries(settings).map(([name, value]) => `SET ${name} = '${value}'`),
    );
    const pet = await app.post('/v1/pets', aNewPet({ name: 'Zoë 🐈' }));
    expect([pet.status, pet.json.name]).toEqual([201, 'Zoë 🐈']);
    for (const [key, code] of [
      [revoked, 'revoked_api_key'],
      [expired, 'expired_api_key'],
    ] as const)
      expect((await app.get('/v1/pets', { key })).json.code).toBe(code);
    const order = () => app.post('/v1/store/orders', { petId: pet.json.id });
    const orders = await Promise.all(Array.from({ length: 6 }, order));
    expect(orders.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(orders.filter(({ status }) => status === 409)).toHaveLength(5);
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    const update = (_: unknown, at: number) =>
      app.send('PATCH', `/v1/pets/${id}`, { body: { name: `name ${at}` } });
    for (const { status } of await Promise.all(Array.from({ length: 6 }, update))) expect(status).toBe(200);
    expect((await app.get('/v1/events')).status).toBe(200);
    for (const [name, value] of Object.entries({
      synchronous_commit: 'on',
      idle_session_timeout: '0',
      jit: 'off',
      'animal_store.events': 'on',
    }))
      expect([name, await shown(name)]).toEqual([name, [value]]);
    await change(
      place,
      Object.keys(settings).map((name) => `RESET ${name}`),
    );
  });

  it('but keeps a stronger synchronous_commit', async () => {
    await change('ALTER ROLE app', ['SET synchronous_commit = remote_apply']);
    expect(await shown('synchronous_commit')).toEqual(['remote_apply']);
    await change('ALTER ROLE app', ['RESET synchronous_commit']);
  });
});

describe('the rights of other roles', () => {
  let database: TestDatabase;
  beforeAll(() => query(server.adminUrl(), 'CREATE ROLE anon; CREATE ROLE reporting'));
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.drop());
  const configOf = ({ directUrl }: TestDatabase, ...migrations: (typeof Journal)[]) =>
    configWith(directUrl, extensionOf('journal', ...migrations));

  it.each(['', 'IN SCHEMA public'])(
    'do not begin with a migration or a restore, by defaults %s',
    async (where) => {
      const copy = await createDatabase('template0');
      for (const each of [database, copy])
        for (const kind of ['TABLES', 'SEQUENCES', 'FUNCTIONS'])
          await each.administer(`
          ALTER DEFAULT PRIVILEGES FOR ROLE ${APP_ROLE} ${where} GRANT ALL ON ${kind} TO anon WITH GRANT OPTION;
          ALTER DEFAULT PRIVILEGES FOR ROLE ${APP_ROLE} ${where} GRANT ALL ON ${kind} TO PUBLIC`);
      const defaults = await database.query(DEFAULTS);
      await migrate(configOf(database, Journal));
      expect(await database.query(GRANTED)).toEqual([{ role: 'reporting', name: 'journal' }]);
      await database.query('GRANT SELECT ON pets TO reporting');
      await migrate(configOf(database, Journal, Again));
      expect(await database.query(GRANTED)).toEqual([{ role: 'reporting', name: 'pets' }]);
      expect(await database.query(DEFAULTS)).toEqual(defaults);
      const folder = backupFolder();
      await backup({ url: database.directUrl }, folder.file('good'));
      await restore({ url: copy.directUrl }, folder.file('good'), configOf(copy, Journal, Again));
      expect([await copy.query(GRANTED), await copy.query(DEFAULTS)]).toEqual([[], defaults]);
      await copy.drop();
      folder.remove();
    },
  );

  it('are a line of the level error if a role may change a table, and not if it may only read', async () => {
    await migrate(configOf(database, Journal));
    for (const [role, statements] of Object.entries({ ...CHANGING, ...OTHERS }))
      await database.administer(`CREATE ROLE ${role}; ${statements}`);
    await database.administer('GRANT INSERT ON webhooks TO PUBLIC');
    const { log, stop } = await startHere({ DATABASE_URL: database.directUrl });
    await stop();
    const found = log.filter((line) => line.includes('besides the owner'));
    const named = found.map((line) => [JSON.parse(line).level, line.match(/\w+(?= \()/g)]);
    expect(Object.fromEntries(named)).toEqual({ 50: ['PUBLIC', ...Object.keys(CHANGING)] });
  });
});
