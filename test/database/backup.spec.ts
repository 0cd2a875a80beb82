import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { migrate, revert } from '../../src/database/migrate';
import { kennels, Kennels1795300000000 } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { schemaConfig } from '../support/schema-config';
import { untilWaiting } from '../support/lock-waits';
import { until } from '../support/until';
import { backup, backupFolder, contentOf, messageOf, restore } from './support/backups';
import { configWith, extensionOf, migrationOf } from './support/extensions';

/** Characters that COPY's text format escapes, its end of rows, and characters with more than one code point. */
const NAME = '\\. \\t \\N "quoted", back\\slash\\ — 猫 🐈‍⬛ \u2028 \u00a0';
const KENNELS = Kennels1795300000000.name;
const LARGE_ID = 9_007_199_254_740_993n;

/** References in another order than the names, to the store and to itself; a generated and a removed column, partitions. */
const Odd = migrationOf(
  'Odd1795300000001',
  `CREATE TABLE "Z last" (id bigint PRIMARY KEY, parent bigint REFERENCES "Z last" DEFERRABLE INITIALLY DEFERRED,
                          twice bigint GENERATED ALWAYS AS (id * 2) STORED, pet_id bigint REFERENCES pets);
   CREATE TABLE m (id bigint PRIMARY KEY REFERENCES "Z last");
   CREATE TABLE a (one bigint REFERENCES m, gone text, other bigint REFERENCES "Z last");
   ALTER TABLE a DROP COLUMN gone;
   CREATE TABLE parted (id bigint PRIMARY KEY) PARTITION BY HASH (id);
   CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
  'DROP TABLE a, m, "Z last", parted',
);
const ROWS = `
  INSERT INTO "Z last" VALUES (1, 2, DEFAULT, (SELECT min(id) FROM pets)), (2, 1, DEFAULT, NULL);
  INSERT INTO m VALUES (2); INSERT INTO a VALUES (2, 1); INSERT INTO parted VALUES (7)`;

describe('a backup', () => {
  const folder = backupFolder();
  let source: TestDatabase;
  beforeAll(async () => {
    source = await createDatabase();
    const create = ['keys', 'create', '--account', 'acme', '--label', 'shop'];
    expect((await runCli(create, { DATABASE_URL: source.directUrl })).status).toBe(0);
    await source.query('UPDATE api_keys SET label = $1', [NAME]);
    // The API rejects control characters, but older rows may contain them. The rows need several blocks.
    const controls = 'tab\t line\n\\.\n return\r backspace\b escape\u001b';
    await source.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT name, -n, 'sold' FROM generate_series(1, 3000) AS n, unnest($1::text[]) AS name`,
      [[NAME, controls]],
    );
    await source.query(`ALTER TABLE pets ALTER COLUMN id RESTART WITH ${LARGE_ID}`);
    // No order has this id yet.
    await source.query(`ALTER TABLE store_orders ALTER COLUMN id RESTART WITH ${LARGE_ID}`);
  });
  afterAll(async () => {
    await source.drop();
    folder.remove();
  });

  it('restores every row of every table, and the exact position of every sequence', async () => {
    const target = await createDatabase('template0');
    const file = folder.file('all');
    const written = await backup(source, file);
    const restored = await restore(target, file);
    const expected = await contentOf(source);
    expect(await contentOf(target)).toEqual(expected);
    expect(restored).toEqual({ createdAt: written.createdAt, migrated: [] });
    expect(written.bytes).toBe(statSync(file).size);
    expect((await migrate(schemaConfig(target.url))).applied).toEqual([]);
    await target.drop();
  });

  it('has the state of the moment at which it has locked the tables: no later row, and those of a rewritten table', async () => {
    const target = await createDatabase('template0');
    const path = folder.file('moment');
    // A database of its own: the late row would change the counts that other specs compare.
    const changing = await createDatabase();
    const insert = (name: string) =>
      `INSERT INTO pets (name, category_id, status) VALUES ('${name}', 1, 'sold')`;
    await changing.query(insert('early'));
    const name = new URL(changing.url).pathname.slice(1);
    const migration = new Client({ connectionString: changing.url });
    await migration.connect();
    await changing.query(`ALTER ROLE CURRENT_USER IN DATABASE ${name} SET lock_timeout = '150ms'`);
    await migration.query('BEGIN; ALTER TABLE pets ADD COLUMN again uuid DEFAULT gen_random_uuid()');
    const clients: any = Client.prototype;
    const { query } = clients;
    const spy = jest.spyOn(clients, 'query').mockImplementation(function (this: unknown, ...args: any[]) {
      // Before the copy of the first table, after the snapshot.
      if (String(args[0].text).startsWith('COPY')) {
        spy.mockRestore();
        const program = `const client = new (require('pg').Client)(process.argv[1]);
          client.connect().then(() => client.query(process.argv[2])).then(() => client.end())`;
        execFileSync(process.execPath, ['-e', program, changing.directUrl, insert('later')]);
      }
      return query.apply(this, args);
    });
    const writing = backup(changing, path);
    await until(async () => (await changing.query(LATE)).length === 1);
    await migration.query(`ALTER TABLE pets DROP COLUMN again; ${insert('late')}; COMMIT`);
    await migration.end();
    await writing;
    await restore(target, path);
    const names = (database: TestDatabase) => database.query('SELECT name FROM pets ORDER BY id');
    expect(await names(target)).toEqual([{ name: 'early' }, { name: 'late' }]);
    expect(await names(changing)).toHaveLength(3);
    await changing.drop();
    await target.drop();
  });

  it('is a new file that only its owner may read', async () => {
    const file = folder.file('mode');
    await backup(source, file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, 'precious');
    expect(await messageOf(backup(source, file))).toMatch(/mode exists: give another name\.$/);
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(await messageOf(backup(source, folder.file('missing/file')))).toMatch(
      /^The file .* cannot be written \(ENOENT\)/,
    );
  });

  it('leaves no file if the connection to the database breaks', async () => {
    const blocker = new Client({ connectionString: source.url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE pets');
    const message = messageOf(backup(source, folder.file('broken')));
    await untilWaiting(source);
    await source.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    await blocker.end();
    expect(await message).toMatch(/^The database cannot be used \(.*\): check DATABASE_URL/);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('broken'))).toEqual([]);
  });

  it('is rejected if the search_path does not begin with the schema of the tables', async () => {
    await source.query('CREATE SCHEMA other CREATE TABLE kept (id bigint)');
    const file = folder.file('elsewhere');
    const url = new URL(source.directUrl);
    url.searchParams.set('options', '-csearch_path=other,public');
    const message = await messageOf(backup({ url: url.href }, file));
    await source.query('DROP SCHEMA other CASCADE');
    expect(message).toBe(
      'New tables would be in the schema other, not in public: let the search_path of the user in DATABASE_URL name only the schema of the store.',
    );
  });

  it('has the tables of a schema whose name needs quotes', async () => {
    const empty = await createDatabase('template0');
    await empty.query('CREATE SCHEMA "My.Shop"');
    const url = new URL(empty.directUrl);
    url.searchParams.set('options', '-csearch_path="My.Shop"');
    await migrate(schemaConfig(url.href));
    const file = folder.file('quoted');
    await backup({ url: url.href }, file);
    expect(gunzipSync(readFileSync(file)).toString()).toMatch(/^\{"table":"pets"\}$/m);
    await empty.drop();
  });

  it('has the tables of extensions, and needs a program with them', async () => {
    const target = await createDatabase('template0');
    const [extended, file] = [await createDatabase(), folder.file('extension')];
    const config = (url: string) => configWith(url, kennels, extensionOf('odd', Odd));
    await migrate(config(extended.url));
    await extended.query(ROWS);
    await backup(extended, file);
    expect(await messageOf(restore(target, file))).toBe(
      `This program lacks the migration ${KENNELS} of the backup: restore it with the extension kennels.`,
    );
    await restore(target, file, config(target.url));
    expect(await contentOf(target)).toEqual(await contentOf(extended));
    expect(await revert(config(target.url), 'odd')).toEqual([Odd.name]);

    // A later migration of the extension changes a table with deferred constraints.
    const Checked = migrationOf('Checked1795300000002', 'ALTER TABLE "Z last" ADD CHECK (id > 0)', '');
    const upgraded = await createDatabase('template0');
    const later = configWith(upgraded.url, kennels, extensionOf('odd', Odd, Checked));
    expect((await restore(upgraded, file, later)).migrated).toEqual([Checked.name]);
    await upgraded.drop();
    await extended.drop();
    await target.drop();
  });
});

const LATE = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE '%LOCK TABLE accounts%' AND wait_event_type = 'Lock'
    AND clock_timestamp() - query_start > '300ms'`;
