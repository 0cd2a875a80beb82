import { LIST, LIST_BY_STATUS } from '../../src/store-orders/store-orders.repository';
import { startApp, type TestApp } from '../support/app';
import { fillPets } from '../support/factories';
import { type Client, fillOrders, newClient } from './support/orders';

describe('a page of orders, with 100,000 of one account among others', () => {
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
    // The small accounts order again at the end: the way to it along the primary key would be long.
    await fillOrders(app, [oldest, newest], 500, mixed);
    // And so do few of one status.
    await fillOrders(app, [large], 500, ['cancelled']);
    await app.database.query('VACUUM ANALYZE store_orders');
    const [row] = await app.database.query<{ id: string }>('SELECT max(id) AS id FROM store_orders');
    lastId = Number(row!.id);
  });
  afterAll(() => app.close());

  /** Neither a sort, nor another table scan than along the index, nor rows read in vain. */
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
    ])('of %s reads its index, sorts nothing and scans no table', async (_what, account, status) => {
      const { text } = status === undefined ? LIST : LIST_BY_STATUS;
      const values = [Math.floor(depth * lastId), 101, accounts[account], ...(status ? [status] : [])];
      const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
      expectIndexAlone(plan, status === undefined ? BY_ID : BY_STATUS);
    });
  });

  it.each([
    ['without filter', LIST, '', BY_ID],
    ['of one status', LIST_BY_STATUS, `, 'placed'`, BY_STATUS],
  ])(
    '%s does so under a generic plan too, which a prepared statement may get',
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
