import { type Direction, DIRECTIONS } from '../../src/platform/http/page';
import type { OrderStatus } from '../../src/store-orders';
import { orderPages } from '../../src/store-orders/order-pages';
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
      ['all accounts', undefined, undefined],
      ['all accounts, a frequent status', undefined, 'delivered'],
      ['all accounts, a rare status', undefined, 'cancelled'],
    ] as const)(
      'of %s scans only its index, without a sort, in both orders',
      async (_what, account, status) => {
        for (const direction of DIRECTIONS) {
          const { text, values } = page(account, status, direction);
          const all = [Math.floor(depth * lastId), 101, ...values];
          const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) ${text}`, all);
          expectIndexAlone(plan, indexOf(account, status));
        }
      },
    );
  });

  it.each([
    ['of an account', 'large', undefined],
    ['of an account, one status', 'large', 'placed'],
    ['of all accounts', undefined, undefined],
    ['of all accounts, one status', undefined, 'placed'],
  ] as const)(
    '%s scans only its index under a generic plan, which a prepared statement may get',
    async (_what, account, status) => {
      await app.database.query('SET plan_cache_mode = force_generic_plan');
      for (const direction of DIRECTIONS) {
        const { name, text, values } = page(account, status, direction);
        await app.database.query(`PREPARE ${name} AS ${text}`);
        const list = ['50000', '101', ...values.map((value) => `'${value}'`)].join(', ');
        const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) EXECUTE ${name} (${list})`);
        expectIndexAlone(plan, indexOf(account, status));
      }
    },
  );

  function page(account: string | undefined, status: OrderStatus | undefined, direction: Direction) {
    const accountId = account === undefined ? undefined : BigInt(accounts[account]!);
    const [statements, values] = orderPages({ accountId, status });
    const { name, text } = statements[direction];
    return { name, text, values: values.map(String) };
  }

  function indexOf(account: string | undefined, status: OrderStatus | undefined): string {
    if (account === undefined) return status === undefined ? 'store_orders_pkey' : 'store_orders_status_id';
    return status === undefined ? BY_ID : BY_STATUS;
  }
});
