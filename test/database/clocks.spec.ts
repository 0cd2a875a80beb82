import { startApp, type TestApp } from '../support/app';
import { followDatabase } from '../support/clock';
import { aNewPet } from '../support/factories';

const DAY = 86_400;
const SOME = expect.stringMatching(/[1-9]/);

describe('a clock of this machine that is not that of the database', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await followDatabase(app);
  });
  afterAll(() => app.close());

  const add = (key: string) => app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': key } });

  it('cancels and deletes nothing before its time by the clock of the database', async () => {
    const { json: pet } = await add('one');
    await app.post('/v1/store/orders', { petId: pet.id });
    await app.runDueWork();
    const kept = () =>
      app.database.query(`
        SELECT (SELECT array_agg(status) FROM store_orders) AS orders, (SELECT count(*) FROM events) AS events,
               (SELECT count(*) FROM idempotency_keys) AS keys, (SELECT count(*) FROM key_usage) AS usage`);
    const before = await kept();
    expect(before).toEqual([{ orders: ['placed'], events: SOME, keys: SOME, usage: SOME }]);
    app.clock.advance({ seconds: 800 * DAY });
    await app.runDueWork();
    expect(await kept()).toEqual(before);
    app.clock.advance({ seconds: -800 * DAY });
  });

  it('that was a day late and is right again repeats no request', async () => {
    app.clock.advance({ seconds: -2 * DAY });
    const first = await add('late');
    app.clock.advance({ seconds: 2 * DAY });
    await app.runDueWork();
    const again = await add('late');
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
  });
});
