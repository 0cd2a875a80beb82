import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { CopySource } from '../../src/platform/database/copy/copy-source';
import { forgetExtension } from '../../src/platform/database/revert';
import { kennels } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { connectAdmin, createDatabase, type TestDatabase } from '../support/database';
import { migrations, schemaConfig } from '../support/schema-config';
import { until } from '../support/until';
import { contentOf, copy, messageOf, relationsOf } from './support/copying';
import { configWith, extensionOf, migrationOf } from './support/extensions';

/** Characters that COPY's text format escapes, and characters with more than one code point. */
const NAME = '\\t \\N \\. "quoted", back\\slash\\ — 猫 🐈‍⬛ \u2028 \u00a0 \t\n\r\b';
const LARGE_ID = 9_007_199_254_740_993n;

/** Refers to tables of the store and of another extension, and adds rows. */
const Stays = migrationOf(
  'Stays1795300000001',
  `ALTER TABLE kennels ADD PRIMARY KEY (name);
   CREATE TABLE stays (kennel text REFERENCES kennels, pet_id bigint REFERENCES pets, days int DEFAULT 1);
   INSERT INTO kennels VALUES ('South')`,
  `DROP TABLE stays; DELETE FROM kennels WHERE name = 'South'; ALTER TABLE kennels DROP CONSTRAINT kennels_pkey`,
);

/** Sessions of this database that have waited for a lock longer than its timeouts. */
const WAITING_COPIES = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'COPY%' AND wait_event_type = 'Lock'
    AND clock_timestamp() - query_start > '200ms'`;

const COPYING = `pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%pets%' AND state = 'active'`;

describe('copying a database', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  let locker: Client | undefined;
  beforeAll(async () => {
    source = await createDatabase();
    await migrate(configWith(source.url, kennels, extensionOf('stays', Stays)));
    await runCli(['keys', 'create', '--account', 'acme'], { DATABASE_URL: source.directUrl });
    await source.query(`INSERT INTO pets (name, category_id, status) VALUES ($1, -1, 'sold')`, [NAME]);
    await source.query(
      `INSERT INTO kennels VALUES ('North'); INSERT INTO stays SELECT 'North', id FROM pets`,
    );
    for (const table of ['pets', 'store_orders']) {
      await source.query(`ALTER TABLE ${table} ALTER COLUMN id RESTART WITH ${LARGE_ID}`);
    }
  });
  beforeEach(async () => {
    target = await createDatabase('template0');
  });
  afterEach(async () => {
    await locker?.end();
    await target.drop();
  });
  afterAll(() => source.drop());

  const expectRejection = async (sentence: RegExp, to: { readonly url: string } = target) => {
    const message = await messageOf(copy(source, to));
    expect(message).toMatch(sentence);
    expect(message).not.toContain('\n');
  };
  const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1);
  /** Locks the animals, so that a copy waits while it reads them. */
  const lockAnimals = async () => {
    locker = new Client({ connectionString: source.url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE pets');
    return locker;
  };

  it('copies every row and sequence as of one moment, those of removed extensions too, beyond all timeouts', async () => {
    const before = await contentOf(source);
    const writer = await lockAnimals();
    for (const database of [source, target]) {
      for (const timeout of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
        await database.query(
          `ALTER ROLE CURRENT_USER IN DATABASE ${nameOf(database)} SET ${timeout} = '150ms'`,
        );
      }
    }
    const reported: unknown[] = [];
    const copying = copy(source, target, (table) => reported.push(table));
    await until(async () => (await source.query(WAITING_COPIES)).length === 1);
    // Without the sequence, whose position belongs to no transaction.
    await writer.query(
      `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE VALUES (7, 'late', 1, 'sold'); COMMIT`,
    );
    const copied = await copying;
    await source.query(`ALTER ROLE CURRENT_USER IN DATABASE ${nameOf(source)} RESET ALL`);
    expect(await contentOf(target)).toEqual(before);
    expect(reported).toEqual(copied);
    const tables = Object.keys(before).filter((name) => !name.endsWith('_seq'));
    expect(copied.map(({ table }) => table).toSorted()).toEqual(tables);
    for (const { table, rows } of copied) expect(before[table]).toHaveLength(rows);
    for (const name of ['stays', 'kennels']) await forgetExtension(schemaConfig(target.url), name);
    expect(await migrate(schemaConfig(target.url))).toEqual({ applied: [], removed: [] });
    await expectRejection(/not empty/);
  });

  it('rejects a target with any object, and does not change it', async () => {
    for (const [object, definition] of [
      ['TABLE t', '()'],
      ['SEQUENCE s', ''],
      ['TYPE accounts', `AS ENUM ('a')`],
      ['DOMAIN d', 'AS text'],
      ['SCHEMA pgqueue', 'CREATE TABLE t ()'],
    ]) {
      await target.query(`CREATE ${object} ${definition}`);
      const before = await relationsOf(target);
      await expectRejection(/^The database in --to is not empty \(1 /);
      expect(await relationsOf(target)).toEqual(before);
      await target.query(`DROP ${object} CASCADE`);
    }
  });

  it('rejects another encoding, and a database that cannot be written; accepts objects of an extension', async () => {
    const admin = await connectAdmin();
    const name = `${nameOf(target)}_latin`;
    await admin.query(
      `CREATE DATABASE ${name} ENCODING LATIN1 LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
    );
    await expectRejection(/^The database in --to has the encoding LATIN1: /, {
      url: target.url.replace(nameOf(target), name),
    });
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
    await target.query(`ALTER DATABASE ${nameOf(target)} SET default_transaction_read_only = on`);
    await expectRejection(/^The database in --to is read-only/);
    await target.query(`ALTER DATABASE ${nameOf(target)} RESET default_transaction_read_only`);
    // Not every server has an extension with a table, so the catalog is changed.
    await target.administer(`
      CREATE TABLE of_an_extension ();
      INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
      SELECT 'pg_class'::regclass, 'of_an_extension'::regclass, 0, 'pg_extension'::regclass, oid, 0, 'e'
      FROM pg_extension WHERE extname = 'plpgsql'`);
    expect(await messageOf(copy(source, target))).toBe('copied');
  });

  it.each(['source', 'target'])(
    'leaves an empty target if the connection to the %s breaks during a table',
    async (side) => {
      // The source waits for this lock after the target has started to wait for rows.
      const blocker = await lockAnimals();
      const message = messageOf(copy(source, target));
      for (const database of [source, target]) {
        await until(async () => (await database.query(`SELECT FROM ${COPYING}`)).length > 0);
      }
      await (side === 'source' ? source : target).query(`SELECT pg_terminate_backend(pid) FROM ${COPYING}`);
      await blocker.query('COMMIT');
      expect(await message).toMatch(
        side === 'source'
          ? /^The embedded database stopped during the copy/
          : /^The database cannot be reached/,
      );
      expect(await relationsOf(target)).toEqual([]);
    },
  );

  it('rejects an empty source, one of an earlier version and one of a newer version', async () => {
    const unfit = await createDatabase();
    const last = migrations.at(-1)!;
    for (const [statement, sentence] of [
      [`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`, /by a newer version/],
      [`DELETE FROM migrations WHERE name IN ('Later', '${last.name}')`, /run "db migrate" first/],
      ['DROP TABLE migrations', /^There is nothing to copy/],
    ] as const) {
      await unfit.query(statement);
      expect(await messageOf(copy(unfit, target))).toMatch(sentence);
    }
    expect(await relationsOf(target)).toEqual([]);
    await unfit.drop();
  });

  it('sorts tables by their references, not by name, and copies no generated columns', async () => {
    await target.query(`
      CREATE TABLE "Z last" (id bigint PRIMARY KEY, parent bigint REFERENCES "Z last",
                             twice bigint GENERATED ALWAYS AS (id * 2) STORED);
      CREATE TABLE m (id bigint PRIMARY KEY REFERENCES "Z last");
      CREATE TABLE a (one bigint REFERENCES m, gone text, other bigint REFERENCES "Z last");
      ALTER TABLE a DROP COLUMN gone;
      CREATE TABLE parted (id bigint PRIMARY KEY) PARTITION BY HASH (id);
      CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)`);
    const tables = await CopySource.open(target.url);
    expect(await tables.tables()).toEqual([
      { table: '"Z last"', columns: 'id, parent' },
      { table: 'parted', columns: 'id' },
      { table: 'm', columns: 'id' },
      { table: 'a', columns: 'one, other' },
    ]);
    await tables.close();
  });
});
