import { EventEmitter, once } from 'node:events';
import { OutcomeUnknownError } from '../../src/platform/database/database-errors';
import { UsageRecorder } from '../../src/usage/usage-recorder';
import { UsageRepository } from '../../src/usage/usage.repository';
import { startApp, type TestApp } from '../support/app';
import { holdTimers } from '../support/timers';
import { withoutTable } from '../support/without-table';

const recorderOf = ({ nest }: TestApp) => nest.get(UsageRecorder, { strict: false });
const repositoryOf = ({ nest }: TestApp) => nest.get(UsageRepository, { strict: false });

describe('the recorder of usage', () => {
  let app: TestApp;
  let key: string;
  const admitted = async () => {
    const rows = await app.database.query<{ sum: string }>(
      'SELECT coalesce(sum(admitted), 0) AS sum FROM key_usage',
    );
    return Number(rows[0]!.sum);
  };

  beforeEach(async () => {
    holdTimers();
    app = await startApp();
    ({ key } = app);
  });
  afterEach(async () => {
    jest.useRealTimers();
    await app.close();
  });

  it('writes the last requests at a stop, also if a write is under way', async () => {
    const write = new EventEmitter();
    const repository = repositoryOf(app);
    const add = repository.add.bind(repository);
    jest.spyOn(repository, 'add').mockImplementationOnce(async (days) => {
      await once(write, 'continued');
      await add(days);
    });
    await app.get('/v1/pets', { key });
    Reflect.get(recorderOf(app), 'runOnce').call(recorderOf(app));
    await app.get('/v1/pets', { key });
    const restarted = app.restart();
    write.emit('continued');
    await restarted;
    expect(await admitted()).toBe(2);
  });

  it('retries a write that failed, and counts nothing twice', async () => {
    await app.get('/v1/pets', { key });
    await withoutTable(app.database, 'key_usage', async () => {
      await expect(recorderOf(app).run()).rejects.toThrow(/key_usage/);
      await app.get('/v1/pets', { key });
    });
    await recorderOf(app).run();
    await recorderOf(app).run();
    expect(await admitted()).toBe(2);
  });

  it('does not retry a write that may have taken effect', async () => {
    const repository = repositoryOf(app);
    const add = repository.add.bind(repository);
    const spy = jest.spyOn(repository, 'add').mockImplementationOnce(async (days) => {
      await add(days);
      throw new OutcomeUnknownError(new Error('Connection terminated'));
    });
    await app.get('/v1/pets', { key });
    await expect(recorderOf(app).run()).rejects.toThrow(OutcomeUnknownError);
    await recorderOf(app).run();
    expect([spy.mock.calls.length, await admitted()]).toEqual([1, 1]);
  });

  it('deletes days that are older than 400 days, in batches', async () => {
    await app.database.query(
      `INSERT INTO key_usage SELECT 1, date '2026-11-21' - n, m, 1, 0, 0, 0
       FROM generate_series(398, 401) AS n, generate_series(1, 600) AS m`,
    );
    await recorderOf(app).run();
    const rows = await app.database.query(
      `SELECT to_char(date, 'YYYY-MM-DD') AS date, count(*) FROM key_usage GROUP BY date ORDER BY date`,
    );
    expect(rows).toEqual([
      { date: '2025-10-18', count: '600' },
      { date: '2025-10-19', count: '600' },
    ]);
  });
});
