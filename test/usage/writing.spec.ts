import { type CuttingProxy, startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { holdTimers, pass, passUntil } from '../support/timers';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

const FAILS = 'The writing of usage fails';
const WORKS = 'The writing of usage works again';

describe('the counts of getUsage', () => {
  let app: TestApp;
  let key: string;
  let proxy: CuttingProxy | undefined;
  const hasLogged = (text: string) => () => app.log.some((line) => line.includes(text));
  const request = () => app.get('/v1/pets', { key });
  const stored = async () => {
    const [row] = await app.database.query<{ sum: number }>('SELECT sum(admitted)::int FROM key_usage');
    return row!.sum;
  };
  beforeEach(() => holdTimers());
  afterEach(async () => {
    jest.useRealTimers();
    await app.close();
    await proxy?.close();
    proxy = undefined;
  });

  it('have a request once if the connection is lost after its count was stored', async () => {
    proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
    const database = await createDatabase();
    app = await startApp({}, { database: { ...database, url: proxy.through(database.url) } });
    key = await app.unlimitedKey();
    await request();
    proxy.loseResponseTo('key_usage_insert');
    await passUntil(hasLogged(FAILS));
    await request();
    await passUntil(hasLogged(WORKS));
    expect(await stored()).toBe(2);
    expect((await app.get('/v1/usage', { key })).json).toMatchObject([{ admitted: 2 }]);
  });

  it('have the requests of a time in which nothing could be stored; those of the last seconds are stored at a stop', async () => {
    app = await startApp();
    ({ key } = app);
    await withoutTable(app.database, 'key_usage', async () => {
      await request();
      await passUntil(hasLogged(FAILS));
      await request();
    });
    await passUntil(hasLogged(WORKS));
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
    await passUntil(async () => (await stored()) <= 1_200);
    const first = await app.database.query(`SELECT min(date)::text, count(*)::int FROM key_usage`);
    expect(first).toEqual([{ min: '2025-10-18', count: 1_200 }]);
  });
});
