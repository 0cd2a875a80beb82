import { listOf } from '../../src/cli/output';
import { type CuttingProxy, startCuttingProxy } from '../failure/support/cutting-proxy';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

/** For the whole file, with its database behind the proxy; test/support/app closes it. */
let app: TestApp;
let proxy: CuttingProxy;
beforeAll(async () => {
  holdTimers();
  proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
  const database = await createDatabase();
  app = await startApp({}, { database: { ...database, url: proxy.through(database.url) } });
});
afterAll(async () => {
  jest.useRealTimers();
  await proxy.close();
});

describe('the stored counts', () => {
  const request = () => app.get('/v1/pets');
  const stored = async () => {
    const [row] = await app.database.query<{ sum: number }>(
      'SELECT sum(admitted)::int FROM key_usage WHERE account_id > 0',
    );
    return row!.sum;
  };

  it('have each request once if nothing can be stored for a time, at a stop, and if the connection is lost after its count was stored; they are deleted after 400 days', async () => {
    await app.runDueWork();
    // The last use of a key is left for the next time while its row is locked; the counts do not wait.
    app.clock.advance({ seconds: 60 });
    await app.database.query('BEGIN; UPDATE api_keys SET label = label');
    const counted = await stored();
    await request();
    await app.runDueWork();
    expect(await stored()).toBe(counted + 1);
    await app.database.query('ROLLBACK');
    const before = await stored();
    await withoutTable(app.database, 'key_usage', async () => {
      await request();
      await expect(app.runDueWork()).rejects.toThrow('key_usage');
      await request();
    });
    await app.runDueWork();
    expect(await stored()).toBe(before + 2);
    // A crash loses at most 5 s.
    await request();
    pass({ seconds: 5 });
    await until(async () => (await stored()) === before + 3);
    await request();
    await app.database.query(
      `INSERT INTO key_usage SELECT -2, date '2026-11-21' - n, m, 1, 0, 0, 0
       FROM generate_series(398, 401) AS n, generate_series(1, 600) AS m`,
    );
    await app.restart();
    expect(await stored()).toBe(before + 4);
    await request();
    const begin = app.log.length;
    const logged = () =>
      app.log.slice(begin).flatMap((line) => /usage (fails|works again)/.exec(line)?.[1] ?? []);
    proxy.loseResponseTo('unnest_with_');
    await expect(app.runDueWork()).rejects.toThrow('Connection terminated');
    expect(logged()).toEqual(['fails']);
    await request();
    await app.runDueWork();
    expect([await stored(), logged()]).toEqual([before + 6, ['fails', 'works again']]);
    const [found] = await app.database.query(
      `SELECT min(date)::text, count(*)::int FROM key_usage WHERE account_id = -2`,
    );
    expect(found).toEqual({ min: '2025-10-18', count: 1_200 });
  });
});

describe('usage of the command line', () => {
  const RANGE = '--from 2026-10-20 --to 2026-10-21';
  const cli = (command: string) => runCli(command.split(' '), { DATABASE_URL: app.database.url });
  const ids: string[] = [];
  beforeAll(async () => {
    for (const account of ['one', 'two']) {
      const { id } = await app.createKey({ account, label: account === 'one' ? 'shop' : '' });
      ids.push(id);
      await app.database.query(
        `INSERT INTO key_usage SELECT account_id, '2026-10-21', id, 40, 10, 3, 1 FROM api_keys WHERE id = $1`,
        [id],
      );
    }
    await app.database.query(`INSERT INTO key_usage VALUES (-1, '2026-10-20', 'user', 1, 0, 0, 0)`);
  });

  it('prints the rows of getUsage with the account, of all accounts or of one', async () => {
    const none = { rejected: 0, failed: 0, errors: 0 };
    const counts = { date: '2026-10-21', admitted: 40, rejected: 10, failed: 3, errors: 1 };
    const one = { ...counts, account: 'one', keyId: ids[0], label: 'shop' };
    expect((await cli(`usage ${RANGE} --json`)).json()).toEqual([
      { ...none, date: '2026-10-20', account: null, keyId: 'user', label: null, admitted: 1 },
      one,
      { ...counts, account: 'two', keyId: ids[1], label: null },
    ]);
    expect((await cli(`usage --account one ${RANGE} --json`)).json()).toEqual([one]);
    expect((await cli(`usage --account one --to 2026-10-20 --json`)).json()).toEqual([]);
    const unknown = await cli('usage --account three');
    expect([unknown.status, unknown.all]).toEqual([
      1,
      expect.stringContaining('There is no account with this name'),
    ]);
    expect((await cli('usage --from 2026-02-30')).status).toBe(2);
  });

  it('draws bars on a terminal', async () => {
    expect((await cli(`usage ${RANGE}`)).out).not.toContain('█');
    const { isTTY } = process.stdout;
    Object.assign(process.stdout, { isTTY: true });
    const { out } = await cli(`usage ${RANGE}`);
    Object.assign(process.stdout, { isTTY });
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['DATE', 'ACCOUNT', 'KEY', 'ADMITTED', 'REJECTED', 'FAILED', 'ERRORS', 'REQUESTS'],
      ['2026-10-20', '-', 'user', '1', '0', '0', '0', '█'],
      ['2026-10-21', 'one', 'shop', '40', '10', '3', '1', '████████░░'],
      ['2026-10-21', 'two', ids[1], '40', '10', '3', '1', '████████░░'],
      [''],
    ]);
  });

  it('prints 150,000 rows', () => {
    const { text } = listOf(Array.from({ length: 150_000 }), () => ({ date: '2026-10-21' }));
    expect(text.split('\n')).toHaveLength(150_001);
  });
});
