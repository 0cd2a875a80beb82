import { Client } from 'pg';
import { createDatabase } from '../support/database';
import { untilWaiting } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { backup, backupFolder } from './support/backups';

const folder = backupFolder();
afterAll(() => folder.remove());

it('a backup that waits for a transaction says so every 5 s', async () => {
  const database = await createDatabase();
  const other = new Client({ connectionString: database.directUrl });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE pets');
  holdTimers();
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const ran = backup({ url: database.directUrl }, folder.file('a'));
  await untilWaiting(database);
  pass({ seconds: 5 });
  const lines = said.mock.calls.map(([line]) => line);
  said.mockRestore();
  jest.useRealTimers();
  await other.end();
  await ran;
  expect(lines).toEqual(['Waiting for a transaction that has locked a table…\n']);
  await database.drop();
});
