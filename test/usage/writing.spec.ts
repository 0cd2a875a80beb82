import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

describe('the counts of getUsage', () => {
  let app: TestApp;
  const request = () => app.get('/v1/pets');
  const logged = (text: string) => app.log.filter((line) => line.includes(`writing of usage ${text}`)).length;
  const stored = async () => {
    const [row] = await app.database.query<{ sum: number }>('SELECT sum(admitted)::int FROM key_usage');
    return row!.sum;
  };
  beforeEach(() => holdTimers());
  afterEach(() => jest.useRealTimers());

  it('have a request once if the connection is lost after its count was stored', async () => {
    const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
    const database = await createDatabase();
    app = await startApp({}, { database: { ...database, url: proxy.through(database.url) } });
    await request();
    proxy.loseResponseTo('key_usage_insert');
    await expect(app.runDueWork()).rejects.toThrow('Connection terminated');
    expect([logged('fails'), logged('works')]).toEqual([1, 0]);
    await request();
    await app.runDueWork();
    expect([await stored(), logged('works again')]).toEqual([2, 1]);
    await app.close();
    await proxy.close();
  });

  it('have the requests of a time in which nothing could be stored; those of the last seconds are stored at a stop', async () => {
    app = await startApp();
    await withoutTable(app.database, 'key_usage', async () => {
      await request();
      await expect(app.runDueWork()).rejects.toThrow('key_usage');
      await request();
    });
    await app.runDueWork();
    expect([await stored(), logged('fails'), logged('works again')]).toEqual([2, 1, 1]);
    // A crash loses at most 5 s.
    await request();
    pass({ seconds: 5 });
    await until(async () => (await stored()) === 3);
    await request();
    await app.restart();
    expect(await stored()).toBe(4);
  });

  it('are deleted after 400 days', async () => {
    app = await startApp();
    await app.database.query(
      `INSERT INTO key_usage SELECT 1, date '2026-11-21' - n, m, 1, 0, 0, 0
       FROM generate_series(398, 401) AS n, generate_series(1, 600) AS m`,
    );
    await app.runDueWork();
    const [found] = await app.database.query(`SELECT min(date)::text, count(*)::int FROM key_usage`);
    expect(found).toEqual({ min: '2025-10-18', count: 1_200 });
  });
});
