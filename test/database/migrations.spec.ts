import { Client } from 'pg';
import { migrate, migrationStates, revert } from '../../src/database/migrate';
import type { Extension } from '../../src/api/extension/extension';
import { kennels, Kennels1795300000000 } from '../modules/support/kennels.extension';
import { createDatabase, type TestDatabase } from '../support/database';
import { untilWaiting } from '../support/lock-waits';
import { migrations, schemaConfig } from '../support/schema-config';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { configWith, extensionOf, migrationOf } from './support/extensions';
import { messageOf } from './support/backups';

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
    expect(await revert(config)).toEqual(applied.slice(-1));
    const found = (await migrationStates(config)).map(({ state }) => state);
    expect(found).toEqual([...applied.slice(1).map(() => 'applied'), 'pending']);
    for (const name of applied.slice(0, -1).toReversed()) expect(await revert(config)).toEqual([name]);
    expect(await revert(config)).toEqual([]);
    expect(await tables(empty)).toEqual([]);
    await empty.drop();
  });

  it('wait for another run longer than the role lets a statement or the wait for a lock take, and say so every 5 s', async () => {
    holdTimers();
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const name = new URL(database.directUrl).pathname.slice(1);
    await database.query(`ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET lock_timeout = '200ms'`);
    await database.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const create = `CREATE TABLE timed AS SELECT current_setting('statement_timeout') AS timeout`;
    const Timed = migrationOf('Timed1795300000008', create, '');
    const waiting = messageOf(migrate(configWith(database.directUrl, extensionOf('timed', Timed))));
    const late = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                  AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '300ms'`;
    await until(async () => (await database.query(late)).length > 0);
    pass({ seconds: 5 });
    await database.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    expect(await waiting).toBe('done');
    pass({ seconds: 5 });
    expect(said.mock.calls).toEqual([['Waiting for another process, which uses the schema…\n']]);
    said.mockRestore();
    jest.useRealTimers();
    expect(await database.query('SELECT timeout FROM timed')).toEqual([{ timeout: '0' }]);
  });
});

describe('a database of an earlier build', () => {
  const INDEXES = `SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = 'pets'::regclass ORDER BY 1`;
  const earlier = (words: string) =>
    `DROP INDEX pets_word_blocks; CREATE INDEX pets_words ON pets USING gin (array_to_tsvector(string_to_array(${words}, ' ')))`;

  it.each([
    ['2.0.0', 'pet_words(name)', `name ~ 'PlainPetWords|PetWordBlocks'`],
    ['29 November', 'lower(name)', `name ~ 'PetWordBlocks'`],
  ])('of %s gets the index that a search needs', async (_, words, missing) => {
    const wanted = await database.query(INDEXES);
    await database.query(`${earlier(words)}; DELETE FROM migrations WHERE ${missing}`);
    await apply();
    expect(await database.query(INDEXES)).toEqual(wanted);
  });
});

describe('the schema of a newer version', () => {
  const FUTURE = 'FromTheFuture9999999999999';
  const rejection = expect.stringMatching(`^The database was migrated by a newer .+ [(]${FUTURE}[)]`);

  it('is accepted if it only adds to that of this version', async () => {
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, '${FUTURE}')`);
    expect(await apply(kennels)).toMatchObject({ applied: [KENNELS] });
    await database.query('DELETE FROM migrations WHERE name = $1', [migrations.at(-1)?.name]);
    expect(await messageOf(apply())).toEqual(rejection);
  });
});

describe('the migrations of an extension', () => {
  it('run after those of the store, in an existing database, with any timestamps', async () => {
    const create = 'CREATE TABLE early (pet_id bigint REFERENCES pets)';
    const Early = migrationOf('Early1600000000000', create, '');
    expect((await apply(extensionOf('early', Early))).applied).toEqual([Early.name]);
    const config = configWith(database.url, extensionOf('early', Early));
    const name = 'Later1595219200099';
    const ofStore = { ...config.migrations[0]!, name, timestamp: 1595219200099 };
    const later = { ...ofStore, create: migrationOf(name, 'CREATE TABLE later ()', '') };
    const { applied } = await migrate({ ...config, migrations: [...config.migrations, later] });
    expect(applied).toEqual([name]);
    expect(await tables()).toEqual(expect.arrayContaining(['early', 'later']));
  });

  it('run once and are recorded once, if several instances start concurrently', async () => {
    const runs = await Promise.all(Array.from({ length: 2 }, () => apply(kennels)));
    expect(runs.flatMap(({ applied }) => applied)).toEqual([KENNELS]);
    expect(await database.query('SELECT name, extension FROM extension_migrations')).toEqual([
      { name: KENNELS, extension: 'kennels' },
    ]);
  });
});

describe('the reversion of an extension', () => {
  const both = { ...kennels, migrations: [Kennels1795300000000, Shelters] };
  const revertKennels = (config = configWith(database.url, both)) => messageOf(revert(config, 'kennels'));

  it('takes all its migrations back once, the last one first, and no others, also if commands are concurrent', async () => {
    const before = await tables();
    const Later = migrationOf('Later1795300000002', 'CREATE TABLE later ()', 'DROP TABLE later');
    const config = configWith(database.url, both, extensionOf('later', Later));
    await migrate(config);
    await database.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const commands = [1, 2].map(() => revert(config, 'kennels'));
    await untilWaiting(database, 2);
    await database.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    expect((await Promise.all(commands)).flat()).toEqual([Shelters.name, KENNELS]);
    expect(await tables()).toEqual([...before, 'later'].toSorted());
    expect(await apply(extensionOf('later', Later))).toEqual({ applied: [], removed: [] });
  });

  it('needs a program that has it; so does that of its migration as the last one', async () => {
    await apply(both);
    const config = schemaConfig(database.url);
    for (const message of [revertKennels(config), messageOf(revert(config))]) {
      expect(await message).toBe(
        `The migration ${Shelters.name} belongs to the extension kennels, which this program does not have. Run "db revert --extension kennels" with a program that has it.`,
      );
    }
    expect(await apply()).toEqual({ applied: [], removed: ['kennels'] });
  });

  it('is complete or has no effect', async () => {
    await apply(both);
    await database.query('CREATE VIEW names AS SELECT name FROM shelters');
    expect(await revertKennels()).toContain('cannot drop table kennels because other objects depend on it');
    expect(await database.query('SELECT name, places FROM shelters')).toEqual([]);
    expect(await apply()).toEqual({ applied: [], removed: ['kennels'] });
  });

  it('is rejected for a newer version of it; so is that of the store', async () => {
    await apply(both);
    expect(await messageOf(apply(kennels))).toBe(
      `The database was migrated by a newer version of the extension kennels (${Shelters.name}). Install that version again, or run its "db revert" until this migration is reverted.`,
    );
    const older = configWith(database.url, kennels);
    expect(await revertKennels(older)).toMatch(/^The database was migrated by a newer/);
    expect(await states(kennels)).toEqual([{ name: Shelters.name, extension: 'kennels', state: 'newer' }]);
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture')`);
    expect(await messageOf(revert(configWith(database.url, both)))).toMatch(
      /^The database was migrated by a newer version of Animal Store \(FromTheFuture\).* is reverted\.$/,
    );
  });
});

describe('a mistake in a migration of an extension', () => {
  const NAME = 'Wrong1795300000009';

  it('ends the start with one sentence, and nothing is applied', async () => {
    const before = await tables();
    const Wrong = migrationOf(NAME, 'CREATE TABLE pets ()', 'DROP TABLE wrong');
    expect(await messageOf(apply(kennels, extensionOf('wrong', Wrong)))).toBe(
      `The migration ${NAME} fails, so correct it: QueryFailedError: relation "pets" already exists.`,
    );
    expect(await tables()).toEqual(before);
  });
});
