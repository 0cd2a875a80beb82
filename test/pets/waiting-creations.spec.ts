import { startApp, type TestApp } from '../support/app';
import { createDatabase, hasPreparedStatements } from '../support/database';
import { aNewPet } from '../support/factories';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { expectUnavailable } from '../failure/support/expect-unavailable';

const POOL_WAIT_MS = 200;
const RUNNING = 2;

describe('creations that wait for a blocked table', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createDatabase();
    // Pipelining is off behind a pooler without prepared statements.
    const url = hasPreparedStatements() ? database.url : database.directUrl;
    const settings = { databasePreparedStatements: true, databasePoolWaitMs: POOL_WAIT_MS };
    app = await startApp(settings, { database: { ...database, url } });
  });
  afterAll(() => app.close());

  it('get 503 after DATABASE_POOL_WAIT_MS and do not take effect; those that were sent succeed', async () => {
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE pets IN SHARE MODE');
    const sent = [];
    let isDone = false;
    for (let at = 0; at < RUNNING; at += 1) {
      sent.push(app.post('/v1/pets', aNewPet({ name: 'sent' })).finally(() => (isDone = true)));
      await until(async () => (await lockWaits(app.database)).length > at);
    }
    const waiting = await Promise.all(
      Array.from({ length: 5 }, () => app.post('/v1/pets', aNewPet({ name: 'waiting' }))),
    );
    for (const response of waiting) expectUnavailable(response);
    expect(isDone).toBe(false);
    await app.database.query('COMMIT');
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([201, 201]);
    expect(await app.database.query('SELECT name FROM pets')).toEqual([{ name: 'sent' }, { name: 'sent' }]);
  });
});
