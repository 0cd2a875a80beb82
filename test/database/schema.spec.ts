import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { revertLast } from '../../src/platform/database/revert';
import { migrationStates } from '../../src/platform/database/schema-state';
import { migrations, schemaConfig } from '../support/schema-config';
import { UserError } from '../../src/platform/errors/user-error';
import { createDatabase } from '../support/database';
import { until } from '../support/until';

const MIGRATION_LOCK = 7_263_504_918;

describe('migrations', () => {
  it('create the schema and the timeouts of its sessions, and revert it completely', async () => {
    const database = await createDatabase('template0');
    const config = schemaConfig(database.url);
    const { applied } = await migrate(config);
    expect(applied).toEqual(migrations.map(({ name }) => name));
    expect(await migrate(config)).toEqual({ applied: [], removed: [] });
    // They bound every wait of the sessions that come after.
    const session = new Client({ connectionString: database.directUrl });
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
    expect(
      await database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`),
    ).toEqual([{ tablename: 'migrations' }]);
    await database.drop();
  });

  it('wait for another run longer than the role lets a statement or the wait for a lock take', async () => {
    const database = await createDatabase();
    const config = schemaConfig(database.directUrl);
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
});
