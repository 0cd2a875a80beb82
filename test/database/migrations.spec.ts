import { Client } from 'pg';
import { Table } from 'typeorm';
import { migrate } from '../../src/platform/database/migrate';
import { forgetExtension, revertLast } from '../../src/platform/database/revert';
import { migrationStates } from '../../src/platform/database/schema-state';
import { UserError } from '../../src/platform/errors/user-error';
import type { Extension, MigrationClass } from '../../src/platform/extension/extension';
import { kennels, Kennels1795300000000 } from '../modules/support/kennels.extension';
import { createDatabase, type TestDatabase } from '../support/database';
import { lockWaits } from '../support/lock-waits';
import { migrations, schemaConfig } from '../support/schema-config';
import { until } from '../support/until';
import { configWith, extensionOf, migrationOf } from './support/extensions';
import { messageOf } from './support/copying';

/** The lock that every migration and reversion takes. */
const MIGRATION_LOCK = 7_263_504_918;

const KENNELS = Kennels1795300000000.name;

/** A second migration, which renames the table of the first one. */
const Shelters = migrationOf(
  'Shelters1795300000001',
  'ALTER TABLE kennels RENAME TO shelters; ALTER TABLE shelters ADD COLUMN places integer',
  'ALTER TABLE shelters DROP COLUMN places; ALTER TABLE shelters RENAME TO kennels',
);

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

const apply = (...extensions: Extension[]) => migrate(configWith(database.url, ...extensions));
const states = async (...extensions: Extension[]) =>
  (await migrationStates(configWith(database.url, ...extensions))).slice(-1);
const tables = async (of: TestDatabase = database) => {
  const all = `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`;
  return (await of.query<{ name: string }>(all)).map(({ name }) => name);
};

describe('migrations', () => {
  it('create the schema and the timeouts of its sessions, and revert it completely', async () => {
    const empty = await createDatabase('template0');
    const config = schemaConfig(empty.url);
    const { applied } = await migrate(config);
    expect(applied).toEqual(migrations.map(({ name }) => name));
    expect(await migrate(config)).toEqual({ applied: [], removed: [] });
    // They bound every wait of the sessions that come after.
    const session = new Client({ connectionString: empty.directUrl });
    await session.connect();
    const { rows } = await session.query(
      `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
              current_setting('idle_in_transaction_session_timeout') AS idle`,
    );
    expect(rows).toEqual([{ statement: '5s', lock: '2s', idle: '10s' }]);
    await session.end();
    expect(await revertLast(config)).toBe(applied.at(-1));
    expect(await migrationStates(config)).toEqual(
      applied.map((name, at) => ({ name, state: at < applied.length - 1 ? 'applied' : 'pending' })),
    );
    for (const name of applied.slice(0, -1).toReversed()) expect(await revertLast(config)).toBe(name);
    expect(await revertLast(config)).toBeUndefined();
    expect(await tables(empty)).toEqual(['migrations']);
    await empty.drop();
  });

  it('wait for another run longer than the role lets a statement or the wait for a lock take', async () => {
    const config = schemaConfig(database.directUrl);
    const name = new URL(database.directUrl).pathname.slice(1);
    for (const timeout of ['statement_timeout', 'lock_timeout']) {
      await database.query(`ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET ${timeout} = '200ms'`);
    }
    await database.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const waiting = migrationStates(config).catch(String);
    const late = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                  AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '300ms'`;
    await until(async () => (await database.query(late)).length > 0);
    await database.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    expect(await waiting).toHaveLength(migrations.length);
  });

  it('of a newer version are not taken back', async () => {
    const config = schemaConfig(database.url);
    await database.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    await expect(revertLast(config)).rejects.toThrow(UserError);
    expect(await database.query('SELECT FROM migrations')).toHaveLength(migrations.length + 1);
  });
});

describe('the migrations of an extension', () => {
  const Early = migrationOf(
    'Early1600000000000',
    'CREATE TABLE early (pet_id bigint REFERENCES pets)',
    'DROP TABLE early',
  );
  it('run in an existing database, also if their timestamps are older than those of the store', async () => {
    expect((await apply(extensionOf('early', Early))).applied).toEqual([Early.name]);
    expect(await tables()).toContain('early');
  });

  it('do not prevent later ones of the store with older timestamps', async () => {
    await apply(kennels);
    const config = configWith(database.url, kennels);
    const later = { ...config.migrations[0]!, name: 'Later1795219200099', timestamp: 1795219200099 };
    const create = migrationOf(later.name, 'CREATE TABLE later ()', 'DROP TABLE later');
    const { applied } = await migrate({
      ...config,
      migrations: [...config.migrations, { ...later, create }],
    });
    expect(applied).toEqual([later.name]);
    expect(await tables()).toContain('later');
  });

  it('run once and are recorded once, if several instances start concurrently', async () => {
    const runs = await Promise.all(Array.from({ length: 2 }, () => apply(kennels)));
    expect(runs.flatMap(({ applied }) => applied)).toEqual([KENNELS]);
    expect(await database.query('SELECT name, extension FROM extension_migrations')).toEqual([
      { name: KENNELS, extension: 'kennels' },
    ]);
  });

  it('may add rows with deferred constraints', async () => {
    const Tree = migrationOf(
      'Tree1795300000004',
      `CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree DEFERRABLE INITIALLY DEFERRED);
       INSERT INTO tree VALUES (1, 2); INSERT INTO tree VALUES (2, 2)`,
      'DROP TABLE tree',
    );
    expect((await apply(extensionOf('tree', Tree))).applied).toEqual([Tree.name]);
  });
});

describe('a removed extension', () => {
  it('is reverted without its code, the last migration first', async () => {
    const before = await tables();
    await apply({ ...kennels, migrations: [Kennels1795300000000, Shelters] });
    const config = schemaConfig(database.url);
    expect(await messageOf(revertLast(config))).toBe(
      `The last migration, ${Shelters.name}, belongs to the removed extension kennels. Run "db forget kennels" to revert all its migrations.`,
    );
    expect(await forgetExtension(config, 'kennels')).toEqual([Shelters.name, KENNELS]);
    expect(await tables()).toEqual(before);
    expect(await apply()).toEqual({ applied: [], removed: [] });
  });

  it('is reverted once by concurrent commands', async () => {
    await apply(kennels);
    const forget = () => messageOf(forgetExtension(schemaConfig(database.url), 'kennels'));
    await database.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const commands = [forget(), forget()];
    await until(async () => (await lockWaits(database)).length === 2);
    await database.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    const messages = await Promise.all(commands);
    expect(messages.filter((message) => message.includes('has no migrations of'))).toHaveLength(1);
    expect(await states()).not.toContainEqual(expect.objectContaining({ extension: 'kennels' }));
  });

  it('is reverted as a whole or not at all', async () => {
    await apply({ ...kennels, migrations: [Kennels1795300000000, Shelters] });
    await database.query('CREATE VIEW names AS SELECT name FROM shelters');
    expect(await messageOf(forgetExtension(schemaConfig(database.url), 'kennels'))).toMatch(
      new RegExp(`^The recorded "down" of the migration ${KENNELS} of the extension kennels fails \\(.*`),
    );
    expect(await database.query('SELECT name, places FROM shelters')).toEqual([]);
    expect(await apply()).toEqual({ applied: [], removed: ['kennels'] });
  });

  it('of a newer version that is still part of the program is not treated as removed', async () => {
    await apply({ ...kennels, migrations: [Kennels1795300000000, Shelters] });
    expect(await messageOf(apply(kennels))).toBe(
      `The database was migrated by a newer version of the extension kennels (${Shelters.name}). Install that version again, or run its "db revert" until this migration is reverted.`,
    );
    expect(await states(kennels)).toEqual([{ name: Shelters.name, extension: 'kennels', state: 'newer' }]);
  });

  it('is reverted with the statements of code and query builders, and with parameters of any type', async () => {
    await database.query('CREATE TABLE remains (bytes bytea, time timestamptz, number bigint, texts text[])');
    const values = [Buffer.from([0, 92, 255]), new Date(1), 2n ** 60n, ['a', 'b']];
    const Coded = migrationOf(
      'Coded1795300000002',
      (runner) => runner.createTable(new Table({ name: 'coded', columns: [{ name: 'id', type: 'int' }] })),
      async (runner) => {
        await runner.manager.createQueryBuilder().delete().from('coded').execute();
        await runner.dropTable('coded');
        await runner.manager.query('INSERT INTO remains VALUES ($1, $2, $3, $4)', values);
      },
    );
    await apply(extensionOf('coded', Coded));
    expect(await database.query('SELECT FROM remains')).toEqual([]);
    await forgetExtension(schemaConfig(database.url), 'coded');
    expect(await database.query('SELECT bytes, time, number, texts FROM remains')).toEqual([
      { bytes: values[0], time: values[1], number: String(values[2]), texts: values[3] },
    ]);
    expect(await tables()).not.toContain('coded');
  });
});

describe('the records of migrations', () => {
  it('are added at the next start to migrations that have none; the data stays', async () => {
    const config = configWith(database.url, { ...kennels, migrations: [Kennels1795300000000, Shelters] });
    await migrate(config);
    await database.query(`INSERT INTO shelters VALUES ('North')`);
    const records = 'SELECT * FROM extension_migrations ORDER BY name';
    const expected = await database.query(records);
    await database.query('DELETE FROM extension_migrations');
    expect(await migrate(config)).toEqual({ applied: [], removed: [] });
    expect(await database.query(records)).toEqual(expected);
    expect(await database.query('SELECT name FROM shelters')).toEqual([{ name: 'North' }]);
  });

  it('belong to the extension that has the migrations now', async () => {
    await apply(kennels);
    await apply({ ...kennels, name: 'shelters', scopes: [] });
    await expect(forgetExtension(schemaConfig(database.url), 'kennels')).rejects.toThrow(
      'The database has no migrations of an extension kennels.',
    );
    expect(await forgetExtension(schemaConfig(database.url), 'shelters')).toEqual([KENNELS]);
  });
});

describe('a mistake in a migration of an extension', () => {
  const NAME = 'Wrong1795300000009';
  const UP = 'CREATE TABLE wrong (id int)';
  const DOWN = 'DROP TABLE wrong';

  it.each<[string, MigrationClass, string]>([
    [
      'an "up" that fails',
      migrationOf(NAME, 'CREATE TABLE pets ()', DOWN),
      `The migration ${NAME} of the extension wrong fails (relation "pets" already exists). Fix it and start again.`,
    ],
    [
      'a "down" that fails',
      migrationOf(NAME, UP, 'DROP TABLE wrnog'),
      `The "down" of the migration ${NAME} of the extension wrong fails (table "wrnog" does not exist). Fix it and start again.`,
    ],
    [
      'an empty "down"',
      migrationOf(NAME, UP, () => Promise.resolve()),
      `The "down" of the migration ${NAME} of the extension wrong is empty. Write one that reverts its "up", and start again.`,
    ],
    [
      'a "down" that leaves something',
      migrationOf(NAME, `CREATE TYPE size AS ENUM ('s'); ${UP}`, DOWN),
      `The "down" of the migration ${NAME} of the extension wrong is not complete: after it, "up" fails (type "size" already exists). Fix it and start again.`,
    ],
    [
      'a migration without a transaction',
      class Wrong1795300000009 extends Kennels1795300000000 {
        readonly transaction = false;
      },
      `The migration ${NAME} of the extension wrong sets transaction to false, and all migrations run in one transaction. Remove that line and start again.`,
    ],
  ])(
    'ends the start with one sentence, and nothing is applied: %s',
    async (_mistake, migration, sentence) => {
      const before = await tables();
      expect(await messageOf(apply(kennels, extensionOf('wrong', migration)))).toBe(sentence);
      expect(await tables()).toEqual(before);
    },
  );

  it('is not reported if the database was unavailable', async () => {
    const Ended = migrationOf(NAME, 'SELECT pg_terminate_backend(pg_backend_pid())', DOWN);
    expect(await messageOf(apply(extensionOf('wrong', Ended)))).toMatch(/^The database cannot be reached/);
  });
});
