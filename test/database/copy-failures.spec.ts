import { Client } from 'pg';
import { migrations } from '../support/schema-config';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin, createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';
import { contentOf, copy, messageOf, relationsOf } from './support/copying';
import { rejectingServer } from './support/rejecting-server';

describe('a copy that is rejected or fails', () => {
  let app: TestApp;
  let target: TestDatabase;
  beforeAll(async () => {
    app = await startApp();
    await app.post('/v1/pets', { name: 'Rex', categoryId: 3 });
    await app.post('/v1/pets', { name: 'Mimi', categoryId: 3 });
  });
  beforeEach(async () => {
    target = await createDatabase('template0');
  });
  afterEach(() => target.drop());
  afterAll(() => app.close());

  const expectRejection = async (sentence: RegExp) => {
    const message = await messageOf(copy(app.database, target));
    expect(message).toMatch(sentence);
    expect(message).not.toContain('\n');
  };

  it.each([
    ['a table', 'CREATE TABLE t ()'],
    ['a table in another schema', 'CREATE SCHEMA s CREATE TABLE t ()'],
    ['a table in a schema whose name begins with pg', 'CREATE SCHEMA pgqueue CREATE TABLE t ()'],
    ['a view', 'CREATE VIEW v AS SELECT 1'],
    ['a sequence', 'CREATE SEQUENCE s'],
    ['an enum', `CREATE TYPE accounts AS ENUM ('a')`],
    ['a composite type', 'CREATE TYPE pets AS (a integer)'],
    ['a domain', 'CREATE DOMAIN d AS text'],
  ])('rejects a target with %s, and does not change it', async (_what, statement) => {
    await target.query(statement);
    const before = await relationsOf(target);
    await expectRejection(/^The database in --to is not empty \(1 /);
    expect(await relationsOf(target)).toEqual(before);
  });

  it('rejects the target of an earlier copy', async () => {
    await copy(app.database, target);
    const before = await contentOf(target);
    await expectRejection(/not empty/);
    expect(await contentOf(target)).toEqual(before);
  });

  it('accepts a target with no relations but those of an extension', async () => {
    // Not every server has an extension with a table, so the catalog is changed.
    await target.administer(`
      CREATE TABLE of_an_extension ();
      INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
      SELECT 'pg_class'::regclass, 'of_an_extension'::regclass, 0, 'pg_extension'::regclass, oid, 0, 'e'
      FROM pg_extension WHERE extname = 'plpgsql'`);
    expect(await messageOf(copy(app.database, target))).toBe('copied');
  });

  it('rejects a server below 15 in a sentence that names --to; accepts 15', async () => {
    const proxy = await startCuttingProxy(target.url);
    const [row] = await target.query<{ server_version_num: string }>('SHOW server_version_num');
    const copyAsOf = (version: string) => {
      proxy.replaced = [row!.server_version_num, version];
      return messageOf(copy(app.database, { url: proxy.through(target.url) }));
    };
    const message = await copyAsOf('140012');
    const relations = await relationsOf(target);
    const accepted = await copyAsOf('150000');
    await proxy.close();
    expect(message).toBe(
      'The server in --to is PostgreSQL 14, and Animal Store needs 15 or later: upgrade it, or name another.',
    );
    expect([relations, accepted]).toEqual([[], 'copied']);
  });

  it('rejects an encoding other than UTF-8', async () => {
    const admin = await connectAdmin();
    const name = new URL(target.url).pathname.slice(1);
    await admin.query(
      `CREATE DATABASE ${name}_latin ENCODING LATIN1 LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
    );
    const url = target.url.replace(name, `${name}_latin`);
    expect(await messageOf(copy(app.database, { url }))).toMatch(
      /^The database in --to has the encoding LATIN1: /,
    );
    await admin.query(`DROP DATABASE ${name}_latin WITH (FORCE)`);
    await admin.end();
  });

  it.each([
    ['28P01', /^The database rejected the password: correct it in --to\.$/],
    ['28000', /^The database rejected the user: correct it in --to\.$/],
    ['3D000', /^The database named in --to does not exist/],
    ['53300', /^The database cannot be reached .*--to/],
  ])('explains what to do when the target responds with %s', async (code, sentence) => {
    const server = await rejectingServer(code);
    const message = await messageOf(copy(app.database, server));
    server.close();
    expect(message).toMatch(sentence);
    expect(message).not.toContain('secret');
  });

  it('rejects a user without the right to create tables, and leaves the target empty', async () => {
    const admin = await connectAdmin();
    const name = new URL(target.url).pathname.slice(1);
    await admin.query(`CREATE ROLE ${name} LOGIN`);
    const url = new URL(target.url);
    url.username = name;
    expect(await messageOf(copy(app.database, { url: url.href }))).toMatch(
      /^The user in --to may not create/,
    );
    expect(await relationsOf(target)).toEqual([]);
    await admin.query(`DROP ROLE ${name}`);
    await admin.end();
  });

  it.each([
    ['a user without a schema', 'SET search_path = nowhere', /has no schema to create tables in/],
    ['a read-only database', 'SET default_transaction_read_only = on', /^The database in --to is read-only/],
  ])('rejects %s in one sentence', async (_what, setting, sentence) => {
    const name = new URL(target.url).pathname.slice(1);
    await target.query(`ALTER DATABASE ${name} ${setting}`);
    await expectRejection(sentence);
  });

  it('compares the numbers of rows: if some are missing, nothing is copied', async () => {
    await target.administer(`
      CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.name = ''Mimi'' THEN RETURN NULL; END IF; RETURN NEW; END';
      CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF to_regclass('pets') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'swallow') THEN
            CREATE TRIGGER swallow BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION swallow();
          END IF;
        END $$;
      CREATE EVENT TRIGGER spoil ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION spoil()`);
    await expectRejection(/^The table pets has 2 rows, but 1 arrived/);
    expect(await relationsOf(target)).toEqual([]);
  });

  it.each(['source', 'target'])(
    'leaves an empty target if the connection to the %s breaks during a table',
    async (side) => {
      const lost = side === 'source' ? app.database : target;
      const sessions = `pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%pets%' AND state = 'active'`;
      // The source waits for this lock after the target has started to wait for rows.
      const blocker = new Client({ connectionString: app.database.url });
      await blocker.connect();
      await blocker.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
      const message = messageOf(copy(app.database, target));
      for (const database of [app.database, target]) {
        await until(async () => (await database.query(`SELECT FROM ${sessions}`)).length > 0);
      }
      await lost.query(`SELECT pg_terminate_backend(pid) FROM ${sessions}`);
      await blocker.query('COMMIT');
      await blocker.end();
      expect(await message).toMatch(
        side === 'source'
          ? /^The embedded database stopped during the copy/
          : /^The database cannot be reached/,
      );
      expect(await relationsOf(target)).toEqual([]);
      expect(await messageOf(copy(app.database, target))).toBe('copied');
    },
  );

  describe('rejects as its source', () => {
    let source: TestDatabase;
    beforeEach(async () => {
      source = await createDatabase();
    });
    afterEach(() => source.drop());

    it.each([
      ['an empty database', 'DROP TABLE migrations', /^There is nothing to copy/],
      [
        'a database of an earlier version',
        `DELETE FROM migrations WHERE name = '${migrations.at(-1)?.name}'`,
        /run "db migrate" first/,
      ],
      [
        'a database of a newer version',
        `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`,
        /by a newer version/,
      ],
    ])('%s', async (_what, statement, sentence) => {
      await source.query(statement);
      expect(await messageOf(copy(source, target))).toMatch(sentence);
      expect(await relationsOf(target)).toEqual([]);
    });
  });
});
