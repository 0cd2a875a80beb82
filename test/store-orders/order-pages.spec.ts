import { LIST_ORDERS, LIST_ORDERS_BY_STATUS } from '../../src/store-orders/store-orders.repository';
import { startApp, type TestApp } from '../support/app';
import { fillPets } from '../support/factories';
import { type Client, fillOrders, newClient } from './support/orders';

describe('a page of orders, of 21 accounts and 100,000 orders of one account', () => {
  const BY_ID = 'store_orders_account_id_id';
  const BY_STATUS = 'store_orders_account_id_status_id';
  let app: TestApp;
  const accounts: Record<string, string> = {};
  let lastId: number;

  beforeAll(async () => {
    app = await startApp();
    await fillPets(app, 1);
    const clients: Client[] = [];
    for (let at = 0; at < 21; at += 1) clients.push(await newClient(app, `account number ${at}`));
    const [oldest, large, newest] = [clients[0]!, clients[10]!, clients[20]!];
    Object.assign(accounts, { oldest: oldest.id, large: large.id, newest: newest.id });
    const mixed = ['placed', 'delivered', 'delivered', 'delivered'];
    await fillOrders(app, clients, 500, mixed);
    await fillOrders(app, [large], 99_500, mixed);
    // More orders of small accounts at the end: a scan of the primary key up to them would be long.
    await fillOrders(app, [oldest, newest], 500, mixed);
    // And a few orders of one status.
    await fillOrders(app, [large], 500, ['cancelled']);
    await app.database.query('VACUUM ANALYZE store_orders');
    const [row] = await app.database.query<{ id: string }>('SELECT max(id) AS id FROM store_orders');
    lastId = Number(row!.id);
  });
  afterAll(() => app.close());

  /** The plan scans only this index: no sort, no other scan, no filter. */
  function expectIndexAlone(plan: unknown, index: string): void {
    const text = JSON.stringify(plan);
    expect(text.match(/"Index Name":"\w+"/g)).toEqual([`"Index Name":"${index}"`]);
    expect(text).not.toMatch(/Sort|Seq Scan|Bitmap|"Filter"/);
  }

  describe.each([
    ['at the start', 0],
    ['half way in', 0.5],
    ['near the end', 0.999],
  ])('%s', (_where, depth) => {
    it.each([
      ['the large account', 'large', undefined],
      ['the large account, a frequent status', 'large', 'delivered'],
      ['the large account, a rare status', 'large', 'cancelled'],
      ['the large account, the last status of the alphabet', 'large', 'placed'],
      ['the oldest account', 'oldest', undefined],
      ['the oldest account, one status', 'oldest', 'placed'],
      ['the newest account', 'newest', undefined],
      ['the newest account, one status', 'newest', 'placed'],
    ])('of %s scans only its index, without a sort', async (_what, account, status) => {
      const { text } = status === undefined ? LIST_ORDERS : LIST_ORDERS_BY_STATUS;
      const values = [Math.floor(depth * lastId), 101, accounts[account], ...(status ? [status] : [])];
      const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
      expectIndexAlone(plan, status === undefined ? BY_ID : BY_STATUS);
    });
  });

  it.each([
    ['without filter', LIST_ORDERS, '', BY_ID],
    ['of one status', LIST_ORDERS_BY_STATUS, `, 'placed'`, BY_STATUS],
  ])(
    '%s scans only its index under a generic plan, which a prepared statement may get',
    async (...[, statement, status, index]) => {
      const { name, text } = statement;
      await app.database.query('SET plan_cache_mode = force_generic_plan');
      await app.database.query(`PREPARE ${name} AS ${text}`);
      const [plan] = await app.database.query(
        `EXPLAIN (FORMAT JSON) EXECUTE ${name} (50000, 101, ${accounts['large']}${status})`,
      );
      expectIndexAlone(plan, index);
    },
  );
});
