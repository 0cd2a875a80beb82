import { migrate, revert } from '../../src/platform/database/migrate';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { migrations, schemaConfig } from '../support/schema-config';
import { rejectionOf } from '../support/start';
import { backup, backupFolder, messageOf } from './support/backups';

const FIX =
  'set DATABASE_URL to an empty database, or to an empty schema with \\?options=-csearch_path%3DNAME';
const has = (relations: string) =>
  new RegExp(`^The database belongs to another program \\(it has ${relations}\\): ${FIX}\\.\\n?$`);
const fails = (reason: string) =>
  new RegExp(
    `^The "up" of the migration \\w+ of the store fails \\(${reason}\\). Nothing was changed. .*\\n?$`,
  );

const TYPEORM = 'CREATE TABLE migrations (id serial, timestamp bigint, name varchar)';
const ROW = `INSERT INTO migrations (timestamp, name) VALUES (1700000000000, 'CreateUsers1700000000000')`;

/** The objects of other programs, and the sentence. */
const PROGRAMS: readonly (readonly [string, RegExp])[] = [
  [`${TYPEORM}; ${ROW}`, has('migrations, migrations_id_seq')],
  [TYPEORM, has('migrations, migrations_id_seq')],
  ['CREATE TABLE migrations (name) AS VALUES (1)', has('migrations')],
  ['CREATE TABLE migrations (id int, migration text, batch int)', has('migrations')],
  [`CREATE VIEW migrations AS SELECT 1 AS id, 'a' AS name`, has('migrations')],
  [`${TYPEORM}; CREATE TABLE extension_migrations ()`, has('extension_migrations, .*')],
  ['CREATE TABLE rate_limit_instances ()', has('rate_limit_instances')],
  ['CREATE TABLE accounts ()', has('accounts')],
  ['CREATE TABLE users (); CREATE TABLE schema_migrations ()', has('schema_migrations, users')],
  ['CREATE MATERIALIZED VIEW pets AS SELECT 1 AS id', has('pets')],
  ['CREATE TYPE pets AS (id int)', has('pets')],
  ['CREATE TYPE accounts AS ENUM ()', fails('type "accounts" already exists')],
  ['CREATE DOMAIN webhooks AS text', fails('type "webhooks" already exists')],
  [
    'CREATE FUNCTION event_cluster() RETURNS text RETURN 1',
    fails('function "event_cluster" already exists .*'),
  ],
];

const CATALOGUE = ['class', 'proc', 'type']
  .map(
    (kind) => `SELECT x::text FROM pg_${kind} x WHERE x::text LIKE '%' || 'public'::regnamespace::oid || '%'`,
  )
  .join(' UNION ALL ');

describe('the database of another program', () => {
  const folder = backupFolder();
  const file = folder.file('store');
  let database: TestDatabase;
  beforeAll(async () => {
    const source = await createDatabase();
    await backup(source, file);
    await source.drop();
  });
  beforeEach(async () => {
    database = await createDatabase('template0');
  });
  afterEach(() => database.drop());
  afterAll(() => folder.remove());

  it.each(PROGRAMS)('is rejected in one sentence, and left as it is: %s', async (made, sentence) => {
    await database.query(made);
    const before = await database.query(CATALOGUE);
    const commands = ['migrate', `restore ${file}`];
    if (sentence.source.includes('belongs')) commands.push('status', 'revert --yes', `backup ${file}.new`);
    expect(await rejectionOf({ DATABASE_URL: database.directUrl })).toMatch(sentence);
    for (const command of ['keys list', 'usage', ...commands.map((each) => `db ${each}`)]) {
      const { status, all } = await runCli(command.split(' '), { DATABASE_URL: database.directUrl });
      expect([command, status, all]).toEqual([command, 1, expect.stringMatching(sentence)]);
    }
    expect(await database.query(CATALOGUE)).toEqual(before);
  });

  it('is not one with only extensions of PostgreSQL, other schemas, or reverted migrations', async () => {
    await database.administer('CREATE EXTENSION pg_buffercache; CREATE SCHEMA other CREATE TABLE pets ()');
    const config = schemaConfig(database.url);
    await Promise.all([migrate(config), migrate(config)]);
    for (const { name } of migrations.toReversed()) expect(await revert(config)).toEqual([name]);
    expect(await messageOf(migrate(config))).toBe('done');
  });
});
