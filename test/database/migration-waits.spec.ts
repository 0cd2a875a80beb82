import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { createDatabase } from '../support/database';
import { lockWaits } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { configWith, extensionOf, migrationOf } from './support/extensions';

it('a migration that waits for a transaction that uses its tables is named every 5 s', async () => {
  const database = await createDatabase();
  const other = new Client({ connectionString: database.directUrl });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE pets IN ACCESS SHARE MODE');
  const Locks = migrationOf('Locks1795300000008', 'LOCK TABLE pets', '');
  holdTimers();
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const migrated = migrate(configWith(database.url, extensionOf('locks', Locks)));
  await until(async () => (await lockWaits(database)).length > 0);
  pass({ seconds: 5 });
  const lines = said.mock.calls.map(([line]) => line);
  said.mockRestore();
  jest.useRealTimers();
  await other.end();
  expect((await migrated).applied).toEqual([Locks.name]);
  expect(lines).toEqual([
    `Waiting for the migration ${Locks.name}, which takes long or waits for a transaction that uses its tables…\n`,
  ]);
  await database.drop();
});
