import { Client } from 'pg';
import { migrations } from '../../src/database/migrations';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { connectAdmin, createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/until';
import { contentOf, copy, refusalOf, relationsOf } from './support/copying';
import { refusingServer } from './support/refusing-server';

describe('a copy that is refused or fails', () => {
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

  const expectRefusal = async (sentence: RegExp) => {
    const refusal = await refusalOf(copy(app.database, target));
    expect(refusal).toMatch(sentence);
    expect(refusal).not.toContain('\n');
  };

  it.each([
    ['a table', 'CREATE TABLE t ()'],
    ['a table in another schema', 'CREATE SCHEMA s CREATE TABLE t ()'],
    ['a view', 'CREATE VIEW v AS SELECT 1'],
    ['a sequence', 'CREATE SEQUENCE s'],
    ['an enum', `CREATE TYPE accounts AS ENUM ('a')`],
    ['a composite type', 'CREATE TYPE pets AS (a integer)'],
    ['a domain', 'CREATE DOMAIN d AS text'],
  ])('refuses a target with %s, and leaves it alone', async (_what, statement) => {
    await target.query(statement);
    const before = await relationsOf(target);
    await expectRefusal(/^The database in --to is not empty \(1 /);
    expect(await relationsOf(target)).toEqual(before);
  });

  it('refuses a target that has been copied to', async () => {
    await copy(app.database, target);
    const before = await contentOf(target);
    await expectRefusal(/not empty/);
    expect(await contentOf(target)).toEqual(before);
  });

  it('takes a target whose only relations came with an extension', async () => {
    // No extension with a table is at hand everywhere: the catalog is told that one has it.
    await target.administer(`
      CREATE TABLE of_an_extension ();
      INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
      SELECT 'pg_class'::regclass, 'of_an_extension'::regclass, 0, 'pg_extension'::regclass, oid, 0, 'e'
      FROM pg_extension WHERE extname = 'plpgsql'`);
    expect(await refusalOf(copy(app.database, target))).toBe('copied');
  });

  it('refuses a server below 15, and names --to as the place to correct; takes 15', async () => {
    const proxy = await startCuttingProxy(target.url);
    const [row] = await target.query<{ server_version_num: string }>('SHOW server_version_num');
    const copyAsOf = (version: string) => {
      proxy.replaced = [row!.server_version_num, version];
      return refusalOf(copy(app.database, { url: proxy.through(target.url) }));
    };
    const refusal = await copyAsOf('140012');
    const left = await relationsOf(target);
    const accepted = await copyAsOf('150000');
    await proxy.close();
    expect(refusal).toBe(
      'The server in --to is PostgreSQL 14, and Animal Store needs 15 or later: upgrade it, or name another.',
    );
    expect([left, accepted]).toEqual([[], 'copied']);
  });

  it('refuses another encoding than UTF-8', async () => {
    const admin = await connectAdmin();
    const name = new URL(target.url).pathname.slice(1);
    await admin.query(
      `CREATE DATABASE ${name}_latin ENCODING LATIN1 LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
    );
    const url = target.url.replace(name, `${name}_latin`);
    expect(await refusalOf(copy(app.database, { url }))).toMatch(
      /^The database in --to has the encoding LATIN1: /,
    );
    await admin.query(`DROP DATABASE ${name}_latin WITH (FORCE)`);
    await admin.end();
  });

  it.each([
    ['28P01', /^The database refused the password: correct it in --to\.$/],
    ['28000', /^The database refused the user: correct it in --to\.$/],
    ['3D000', /^The database named in --to does not exist/],
    ['53300', /^The database cannot be reached .*--to/],
  ])('says what to do when the target answers %s', async (code, sentence) => {
    const server = await refusingServer(code);
    const refusal = await refusalOf(copy(app.database, server));
    server.close();
    expect(refusal).toMatch(sentence);
    expect(refusal).not.toContain('secret');
  });

  it('refuses a user who may not create tables, and leaves the target empty', async () => {
    const admin = await connectAdmin();
    const name = new URL(target.url).pathname.slice(1);
    await admin.query(`CREATE ROLE ${name} LOGIN`);
    const url = new URL(target.url);
    url.username = name;
    expect(await refusalOf(copy(app.database, { url: url.href }))).toMatch(
      /^The user in --to may not create/,
    );
    expect(await relationsOf(target)).toEqual([]);
    await admin.query(`DROP ROLE ${name}`);
    await admin.end();
  });

  it.each([
    ['may use no schema', 'SET search_path = nowhere', /has no schema to create tables in/],
    ['may not write', 'SET default_transaction_read_only = on', /^The database in --to takes no changes/],
  ])('refuses a user who %s, in one sentence', async (_what, setting, sentence) => {
    const name = new URL(target.url).pathname.slice(1);
    await target.query(`ALTER DATABASE ${name} ${setting}`);
    await expectRefusal(sentence);
  });

  it('compares the rows at the end: where some are missing, nothing stays', async () => {
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
    await expectRefusal(/^The table pets has 2 rows, but 1 arrived/);
    expect(await relationsOf(target)).toEqual([]);
  });

  it.each(['source', 'target'])(
    'leaves an empty target when the connection to the %s breaks in the middle of a table',
    async (side) => {
      const lost = side === 'source' ? app.database : target;
      const sessions = `pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%pets%' AND state = 'active'`;
      // The source waits for this lock after the target has begun to wait for rows.
      const blocker = new Client({ connectionString: app.database.url });
      await blocker.connect();
      await blocker.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
      const refusal = refusalOf(copy(app.database, target));
      for (const database of [app.database, target]) {
        await until(async () => (await database.query(`SELECT FROM ${sessions}`)).length > 0);
      }
      await lost.query(`SELECT pg_terminate_backend(pid) FROM ${sessions}`);
      await blocker.query('COMMIT');
      await blocker.end();
      expect(await refusal).toMatch(
        side === 'source' ? /^The embedded database ended in the middle/ : /^The database cannot be reached/,
      );
      expect(await relationsOf(target)).toEqual([]);
      expect(await refusalOf(copy(app.database, target))).toBe('copied');
    },
  );

  describe('for its source', () => {
    let source: TestDatabase;
    beforeEach(async () => {
      source = await createDatabase();
    });
    afterEach(() => source.drop());

    it.each([
      ['an empty one', 'DROP TABLE migrations', /^There is nothing to copy/],
      [
        'one of an earlier version',
        `DELETE FROM migrations WHERE name = '${migrations.at(-1)?.name}'`,
        /run "db migrate" first/,
      ],
      [
        'one of a newer version',
        `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`,
        /by a newer version/,
      ],
    ])('refuses %s', async (_what, statement, sentence) => {
      await source.query(statement);
      expect(await refusalOf(copy(source, target))).toMatch(sentence);
      expect(await relationsOf(target)).toEqual([]);
    });
  });
});
