import { Client } from 'pg';
import { migrate } from '../../src/database/migrate';
import { createDatabase } from '../support/database';
import { untilWaiting } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { backup, backupFolder } from './support/backups';
import { configWith, extensionOf, migrationOf } from './support/extensions';

const Locks = migrationOf('Locks1795300000008', 'LOCK TABLE pets', '');
const folder = backupFolder();
afterAll(() => folder.remove());

it.each<[what: string, sentence: string, run: (url: string) => Promise<unknown>]>([
  [
    'a migration',
    `the migration ${Locks.name}, which takes long or waits for a transaction that uses its tables`,
    (url) => migrate(configWith(url, extensionOf('locks', Locks))),
  ],
  ['a backup', 'a transaction that has locked a table', (url) => backup({ url }, folder.file('a'))],
])('%s that waits for a transaction says so every 5 s', async (_what, sentence, run) => {
  const database = await createDatabase();
  const other = new Client({ connectionString: database.directUrl });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE pets');
  holdTimers();
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const ran = run(database.directUrl);
  await untilWaiting(database);
  pass({ seconds: 5 });
  const lines = said.mock.calls.map(([line]) => line);
  said.mockRestore();
  jest.useRealTimers();
  await other.end();
  await ran;
  expect(lines).toEqual([`Waiting for ${sentence}…\n`]);
  await database.drop();
});
