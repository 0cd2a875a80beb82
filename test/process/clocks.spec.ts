import { IdempotencyRepository } from '../../src/platform/idempotency/idempotency.repository';
import { EventsService } from '../../src/events/events.service';
import { SystemClock } from '../../src/platform/runtime/clock';
import { DAY_MS, SECOND_MS } from '../../src/platform/runtime/time';
import { OrderExpiry } from '../../src/store-orders/order-expiry';
import { UsageRecorder } from '../../src/usage/usage-recorder';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { startHere, type ServiceHere } from '../support/start';

const WORK = [OrderExpiry, EventsService, IdempotencyRepository, UsageRecorder] as const;

describe('a clock of this machine that is not that of the database', () => {
  let database: TestDatabase;
  let service: ServiceHere;
  let key: string | undefined;
  let aheadMs = 0;
  beforeAll(async () => {
    database = await createDatabase();
    jest.spyOn(SystemClock.prototype, 'now').mockImplementation(() => Date.now() + aheadMs);
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await service.stop();
    await database.drop();
  });

  const work = async () => {
    for (const type of WORK) await service.app.get<{ run(): Promise<void> }>(type, { strict: false }).run();
  };
  const warnings = () => service.log.filter((line) => line.includes('The clock of this machine is'));

  it('cancels and deletes nothing before its time by the clock of the database', async () => {
    service = await startHere({ DATABASE_URL: database.directUrl });
    ({ key } = service);
    const headers = { 'Idempotency-Key': 'one' };
    const request = { key, headers, body: { name: 'Rex', categoryId: 1 } };
    const { json: pet } = await send(service.url, 'POST', '/v1/pets', request);
    await send(service.url, 'POST', '/v1/store/orders', { key, body: { petId: pet.id } });
    await work();
    const kept = () =>
      database.query(`
        SELECT (SELECT array_agg(status) FROM store_orders) AS orders, (SELECT count(*) FROM events) AS events,
               (SELECT count(*) FROM idempotency_keys) AS keys, (SELECT count(*) FROM key_usage) AS usage`);
    const before = await kept();
    // Both requests may be on different days.
    const usage = expect.stringMatching(/^[12]$/);
    expect(before).toEqual([{ orders: ['placed'], events: '3', keys: '1', usage }]);
    expect(warnings()).toEqual([]);
    aheadMs = 800 * DAY_MS;
    await work();
    await work();
    expect(await kept()).toEqual(before);
  });

  it('is told in one warning, and in another one after it was right', async () => {
    const [first, ...others] = warnings();
    expect([JSON.parse(first!).msg, others]).toEqual([
      expect.stringMatching(
        /^The clock of this machine is 691\d{5} s ahead of that of the database\. Correct it/,
      ),
      [],
    ]);
    for (aheadMs of [0, -30 * SECOND_MS, -100 * SECOND_MS]) await work();
    expect(warnings().slice(1)).toEqual([expect.stringMatching('is (99|1\\d\\d) s behind')]);
  });

  it('is told at the start', async () => {
    await service.stop();
    service = await startHere({ DATABASE_URL: database.directUrl });
    expect(warnings()).toHaveLength(1);
  });

  it('that was a day late and is right again repeats no request', async () => {
    const headers = { 'Idempotency-Key': 'late' };
    const add = () =>
      send(service.url, 'POST', '/v1/pets', { key, headers, body: { name: 'Max', categoryId: 1 } });
    aheadMs = -2 * DAY_MS;
    const first = await add();
    aheadMs = 0;
    await work();
    const again = await add();
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
  });
});
