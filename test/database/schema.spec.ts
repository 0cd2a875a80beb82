import { DataSource } from 'typeorm';
import { readConfig } from '../../src/config/config';
import { migrate, migrationStates, revertLast } from '../../src/database/migrate';
import { migrations } from '../../src/database/migrations';
import { LIST, LIST_BY_STATUS } from '../../src/pets/pets.repository';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { fillPets } from '../support/factories';

describe('migrations', () => {
  it('lead from nothing to the schema and back to nothing', async () => {
    const database = await createDatabase('template0');
    const config = { ...readConfig({}), databaseUrl: database.url };
    const applied = await migrate(config);
    expect(applied).toEqual(migrations.map(({ name }) => name));
    expect(await migrate(config)).toEqual([]);
    expect(await revertLast(config)).toBe(applied.at(-1));
    expect(await migrationStates(config)).toEqual(
      applied.map((name, at) => ({ name, isApplied: at < applied.length - 1 })),
    );
    for (const name of applied.slice(0, -1).toReversed()) expect(await revertLast(config)).toBe(name);
    expect(await revertLast(config)).toBeUndefined();
    expect(
      await database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`),
    ).toEqual([{ tablename: 'migrations' }]);
    await database.drop();
  });

  it('of several runs at once one does the work, the others wait', async () => {
    const database = await createDatabase('template0');
    const config = { ...readConfig({}), databaseUrl: database.url };
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(config)));
    expect(runs.reduce((sum, { length }) => sum + length, 0)).toBe(migrations.length);
    await database.drop();
  });

  it('bound every wait of the sessions that come after', async () => {
    const database = await createDatabase('template0');
    await migrate({ ...readConfig({}), databaseUrl: database.url });
    const source = await new DataSource({
      type: 'postgres',
      extra: { connectionString: database.directUrl },
    }).initialize();
    const [settings] = await source.query<{ statement: string; lock: string; idle: string }[]>(
      `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
              current_setting('idle_in_transaction_session_timeout') AS idle`,
    );
    expect(settings).toEqual({ statement: '5s', lock: '2s', idle: '10s' });
    await source.destroy();
    await database.drop();
  });
});

describe('the schema', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('has exactly the columns of the entities, of the same types', async () => {
    const source = app.nest.get(DataSource);
    expect(source.entityMetadatas.length).toBeGreaterThan(2);
    for (const { tableName, columns } of source.entityMetadatas) {
      const expected = columns.map(({ databaseName, type, isNullable, isArray }) => ({
        name: databaseName,
        type: isArray ? 'ARRAY' : type === 'timestamptz' ? 'timestamp with time zone' : type,
        nullable: isNullable,
      }));
      const actual = await app.database.query(
        `SELECT column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable
         FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`,
        [tableName],
      );
      expect({ tableName, columns: new Set(actual) }).toEqual({ tableName, columns: new Set(expected) });
    }
  });

  describe('with 100,000 animals', () => {
    beforeAll(async () => {
      await fillPets(app, 100_000, ['available', 'pending', 'sold']);
      // Few of one status, all of them late: the way along the primary key would be long.
      await app.database.query(`UPDATE pets SET status = 'pending' WHERE status = 'sold' AND id < 99000`);
      await app.database.query('VACUUM ANALYZE pets');
    });

    it.each([
      ['at the start without filter', LIST, [0, 101], 'pets_pkey'],
      ['far in without filter', LIST, [90_000, 101], 'pets_pkey'],
      ['at the start of a frequent status', LIST_BY_STATUS, [0, 101, 'available'], 'pets_status_id'],
      ['far into a frequent status', LIST_BY_STATUS, [90_000, 101, 'available'], 'pets_status_id'],
      ['at the start of a rare status', LIST_BY_STATUS, [0, 101, 'sold'], 'pets_status_id'],
      ['far into a rare status', LIST_BY_STATUS, [99_500, 101, 'sold'], 'pets_status_id'],
    ])(
      'a page %s reads its index, sorts nothing and scans no table',
      async (_what, { text }, values, index) => {
        // PostgreSQL may plan a prepared statement for its values, or once for all: both must do.
        for (const mode of ['force_custom_plan', 'force_generic_plan']) {
          await app.database.query(`SET plan_cache_mode = ${mode}`);
          await app.database.query(`PREPARE page AS ${text}`);
          const list = values.map((value) => `'${value}'`).join(', ');
          const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) EXECUTE page (${list})`);
          await app.database.query('DEALLOCATE page');
          expect(JSON.stringify(plan)).toContain(`"Index Name":"${index}"`);
          expect(JSON.stringify(plan)).not.toMatch(/Sort|Seq Scan|Bitmap|"Filter"/);
        }
      },
    );
  });
});
