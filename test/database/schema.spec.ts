import { DataSource } from 'typeorm';
import { migrate } from '../../src/platform/database/migrate';
import { revertLast } from '../../src/platform/database/revert';
import { migrationStates } from '../../src/platform/database/schema-state';
import { migrations, schemaConfig } from '../support/schema-config';
import { UserError } from '../../src/platform/errors/user-error';
import { type PetFilter, petPages } from '../../src/pets/pet-pages';
import { DIRECTIONS } from '../../src/platform/http/page';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { fillPets } from '../support/factories';
import { until } from '../support/until';

const MIGRATION_LOCK = 7_263_504_918;

describe('migrations', () => {
  it('create the schema and revert it completely', async () => {
    const database = await createDatabase('template0');
    const config = schemaConfig(database.url);
    const { applied } = await migrate(config);
    expect(applied).toEqual(migrations.map(({ name }) => name));
    expect(await migrate(config)).toEqual({ applied: [], removed: [] });
    expect(await revertLast(config)).toBe(applied.at(-1));
    expect(await migrationStates(config)).toEqual(
      applied.map((name, at) => ({ name, state: at < applied.length - 1 ? 'applied' : 'pending' })),
    );
    for (const name of applied.slice(0, -1).toReversed()) expect(await revertLast(config)).toBe(name);
    expect(await revertLast(config)).toBeUndefined();
    expect(
      await database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`),
    ).toEqual([{ tablename: 'migrations' }]);
    await database.drop();
  });

  it('run once: concurrent runs wait for the one that applies them', async () => {
    const database = await createDatabase('template0');
    const config = schemaConfig(database.url);
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(config)));
    expect(runs.reduce((sum, { applied }) => sum + applied.length, 0)).toBe(migrations.length);
    await database.drop();
  });

  it('wait for another run longer than the role lets a statement or the wait for a lock take', async () => {
    const database = await createDatabase('template0');
    const config = schemaConfig(database.directUrl);
    await migrate(config);
    const [{ name } = { name: '' }] = await database.query<{ name: string }>(
      'SELECT current_database() AS name',
    );
    for (const timeout of ['statement_timeout', 'lock_timeout']) {
      await database.query(`ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET ${timeout} = '200ms'`);
    }
    await database.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const waiting = migrationStates(config).catch(String);
    await until(
      async () =>
        (
          await database.query(`
            SELECT FROM pg_stat_activity WHERE datname = current_database()
            AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '300ms'`)
        ).length > 0,
    );
    await database.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    expect(await waiting).toHaveLength(migrations.length);
    await database.drop();
  });

  it('of a newer version are not taken back', async () => {
    const database = await createDatabase();
    const config = schemaConfig(database.url);
    await database.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    await expect(revertLast(config)).rejects.toThrow(UserError);
    expect(await database.query('SELECT FROM migrations')).toHaveLength(migrations.length + 1);
    await database.drop();
  });

  it('bound every wait of the sessions that come after', async () => {
    const database = await createDatabase('template0');
    await migrate(schemaConfig(database.url));
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

/** Other conditions may filter the few rows of the ids. */
const BY_IDS = /"Index Cond":"[^"]*id = ANY/;
const SLOW = /Sort|Seq Scan|Bitmap/;

describe('the schema', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('has exactly the columns of the entities, with the same types', async () => {
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
      // Few animals of one status, all with high ids: a scan of the primary key would be long.
      await app.database.query(`UPDATE pets SET status = 'pending' WHERE status = 'sold' AND id < 90000`);
      // A category with less than a page of animals may be sorted.
      await app.database.query('UPDATE pets SET category_id = id % 10');
      await app.database.query('VACUUM ANALYZE pets');
    });

    const filters: [string, PetFilter, RegExp][] = [
      ['without a filter', {}, by('pets_pkey')],
      ['of a frequent status', { status: 'available' }, by('pets_status_id')],
      ['of a rare status', { status: 'sold' }, by('pets_status_id')],
      ['of a large category', { categoryId: 1n }, by('pets_category_id_id')],
      ['of a category, of one status', { categoryId: 1n, status: 'sold' }, by('pets_category_id_status_id')],
      ['of ids', { id: [7n, 99_990n] }, BY_IDS],
      ['of ids and a status', { id: [7n, 99_990n], status: 'sold' }, BY_IDS],
      ['of ids and a category', { id: [7n, 99_990n], categoryId: 1n }, BY_IDS],
      ['of ids, a category and a status', { id: [7n], categoryId: 1n, status: 'sold' }, BY_IDS],
    ];
    const depths = [
      ['at the start', 0],
      ['half way in', 50_000],
      ['near the end', 99_500],
    ] as const;

    it.each(
      filters.flatMap(([what, filter, index]) =>
        DIRECTIONS.flatMap((direction) =>
          depths.map(([where, first]) => [what, direction, where, filter, first, index] as const),
        ),
      ),
    )(
      'a page %s, %s, %s, reads its index, without a sort or a table scan',
      async (_what, direction, _where, filter, first, index) => {
        const [statements, values] = petPages(filter);
        const { text } = statements[direction];
        // PostgreSQL may plan a prepared statement for its values or for any values.
        for (const mode of ['force_custom_plan', 'force_generic_plan']) {
          await app.database.query(`SET plan_cache_mode = ${mode}`);
          await app.database.query(`PREPARE page AS ${text}`);
          const list = [first, 101, ...values].map(literal).join(', ');
          const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) EXECUTE page (${list})`);
          await app.database.query('DEALLOCATE page');
          expect(JSON.stringify(plan)).toMatch(index);
          expect(JSON.stringify(plan)).not.toMatch(SLOW);
        }
      },
    );

    it.each(filters.slice(0, 5))('a page %s is planned once, not for each request', async (what, filter) => {
      const [statements, values] = petPages(filter);
      for (const direction of DIRECTIONS) {
        const { text } = statements[direction];
        await app.database.query('SET plan_cache_mode = auto');
        await app.database.query(`PREPARE page AS ${text}`);
        const list = [50_000, 6, ...values].map(literal).join(', ');
        // PostgreSQL plans the first five executions for their values, and then compares the costs.
        for (let at = 0; at < 10; at += 1) await app.database.query(`EXECUTE page (${list})`);
        const [plans] = await app.database.query(
          `SELECT generic_plans::int AS generic FROM pg_prepared_statements WHERE name = 'page'`,
        );
        await app.database.query('DEALLOCATE page');
        expect({ what, direction, plans }).toEqual({ what, direction, plans: { generic: 5 } });
      }
    });
  });
});

/** No other condition than those of the index. */
function by(index: string): RegExp {
  return new RegExp(`"Index Name":"${index}"(?!.*"Filter")`);
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  return Array.isArray(value) ? `'{${value.join(',')}}'` : `'${value as string | bigint}'`;
}
