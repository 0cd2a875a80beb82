import { APP_ROLE } from '../../src/embedded-postgres/data-folder';
import { migrate } from '../../src/platform/database/migrate';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { createDatabase, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE, SERVICE_ROLE_VARIABLE } from '../support/database-urls';
import { startHere } from '../support/start';
import { backup, backupFolder, restore } from './support/backups';
import { configWith, extensionOf, migrationOf } from './support/extensions';

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

describe('the rights of other roles', () => {
  let server: OwnServer;
  let database: TestDatabase;
  beforeAll(async () => {
    // Some roles of this file may write in each database of their server.
    server = await startOwnServer();
    process.env[ADMIN_URL_VARIABLE] = server.adminUrl();
    process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
    await query(server.adminUrl(), 'CREATE ROLE anon; CREATE ROLE reporting');
  });
  afterAll(() => server.remove());
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

  it('are a line of the level error if a role may change a table, of the level info if it may only read', async () => {
    await migrate(configOf(database, Journal));
    for (const [role, statements] of Object.entries({ ...CHANGING, ...OTHERS }))
      await database.administer(`CREATE ROLE ${role}; ${statements}`);
    await database.administer('GRANT INSERT ON webhooks TO PUBLIC');
    const { log, stop } = await startHere({ DATABASE_URL: database.directUrl });
    await stop();
    const found = log.filter((line) => line.includes('besides the owner'));
    const named = found.map((line) => [JSON.parse(line).level, line.match(/\w+(?= \()/g)]);
    expect(Object.fromEntries(named)).toEqual({
      50: ['PUBLIC', ...Object.keys(CHANGING)],
      30: ['backups', 'readers', 'reporting'],
    });
  });
});
