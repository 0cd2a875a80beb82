import { migrate, revert } from '../../src/database/migrate';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { migrations, schemaConfig } from '../support/schema-config';
import { rejectionOf } from '../support/start';
import { backup, backupFolder, messageOf } from './support/backups';

const TYPEORM = 'CREATE TABLE migrations (id serial, timestamp bigint, name varchar)';
const BELONGS =
  '^The database belongs to another program, or to Animal Store 1[.]0, which 1[.]1 must migrate first .*: set DATABASE_URL to an empty database, or to an empty schema with [?]options=-csearch_path%3DNAME[.]\\s?$';
const FAILS =
  '^The database cannot be used .*: check DATABASE_URL, its server, and the rights of its user[.]\\s?$';

/** The objects of other programs, and the reason in the sentence. */
const PROGRAMS = [
  [
    `${TYPEORM}; INSERT INTO migrations VALUES (1, 17, 'CreateUsers17')`,
    'it has migrations, migrations_id_seq',
  ],
  [TYPEORM, 'it has migrations, migrations_id_seq'],
  ['CREATE TABLE migrations (id int, migration text, batch int)', 'it has migrations'],
  [`CREATE VIEW migrations AS SELECT 1 AS id, 'a' AS name`, 'it has migrations'],
  [`${TYPEORM}; CREATE TABLE extension_migrations ()`, 'it has extension_migrations, migrations, .*'],
  ['CREATE TABLE users (); CREATE TABLE schema_migrations ()', 'it has schema_migrations, users'],
  ['CREATE TYPE accounts AS ENUM ()', 'type "accounts" already exists'],
] as const;

const CATALOGUE = ['class', 'proc', 'type']
  .map(
    (kind) => `SELECT x::text FROM pg_${kind} x WHERE x::text LIKE '%' || 'public'::regnamespace::oid || '%'`,
  )
  .join(' UNION ALL ');

describe('the database of another program', () => {
  const folder = backupFolder();
  let database: TestDatabase;
  beforeAll(async () => {
    const store = await createDatabase();
    await backup(store, folder.file('store'));
    await store.drop();
  });
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.drop());
  afterAll(() => folder.remove());

  const sentenceOf = (reason: string) =>
    new RegExp((reason.startsWith('it') ? BELONGS : FAILS).replace('.*', `\\(${reason}\\)`));

  it.each(PROGRAMS)('is rejected in one sentence, and left as it is: %s', async (made, reason) => {
    await database.query(made);
    const before = await database.query(CATALOGUE);
    expect(await rejectionOf({ DATABASE_URL: database.directUrl })).toMatch(sentenceOf(reason));
    expect(await database.query(CATALOGUE)).toEqual(before);
  });

  it('is rejected by every command', async () => {
    const [made, reason] = PROGRAMS[0];
    await database.query(made);
    const readers = ['db status', 'db revert --yes', 'db backup new'];
    for (const command of ['db migrate', `db restore ${folder.file('store')}`, 'keys list', ...readers]) {
      const { status, all } = await runCli(command.split(' '), { DATABASE_URL: database.directUrl });
      expect([command, status, all]).toEqual([command, 1, expect.stringMatching(sentenceOf(reason))]);
    }
  });

  it('is not one with only extensions of PostgreSQL, other schemas, or reverted migrations', async () => {
    await database.administer(
      'CREATE EXTENSION pg_buffercache; CREATE TYPE pair AS (a int); CREATE SCHEMA other CREATE TABLE pets ()',
    );
    const config = schemaConfig(database.url);
    await Promise.all([migrate(config), migrate(config)]);
    for (const { name } of migrations.toReversed()) expect(await revert(config)).toEqual([name]);
    expect(await messageOf(migrate(config))).toBe('done');
  });
});
