import { type Direction, DIRECTIONS } from '../../src/platform/http/page';
import type { OrderStatus } from '../../src/store-orders';
import { orderPages } from '../../src/store-orders/order-pages';
import { createDatabase, type TestDatabase } from '../support/database';

const ACCOUNTS = 21;
/** More orders than all other accounts have. Small accounts have orders at both ends: a scan up to them would be long. */
const LARGE = 11;
const STATUS = `(ARRAY['placed', 'delivered', 'delivered', 'delivered'])[1 + n % 4]`;
const FILL = `
  INSERT INTO store_orders (account_id, pet_id, status, placed_at)
  SELECT account, nextval('animal'), status, now() FROM (
    SELECT 1 AS part, n, a AS account, ${STATUS} AS status
    FROM generate_series(1, 100) AS n, generate_series(1, ${ACCOUNTS}) AS a
    UNION ALL SELECT 2, n, ${LARGE}, ${STATUS} FROM generate_series(1, 18000) AS n
    UNION ALL SELECT 3, n, 1 + n % 2 * 20, ${STATUS} FROM generate_series(1, 200) AS n
    UNION ALL SELECT 4, n, ${LARGE}, 'cancelled' FROM generate_series(1, 500) AS n
  ) AS orders ORDER BY part, n`;

type Filter = readonly [account: number | undefined, status: OrderStatus | undefined];

/** The plans with the values of a request; test/database/page-plans.spec.ts has the generic plans. */
describe('a page of orders, of 21 accounts and 18,000 orders of one account', () => {
  let database: TestDatabase;
  let lastId: number;
  beforeAll(async () => {
    database = await createDatabase();
    await database.query('CREATE SEQUENCE animal');
    await database.query(
      `INSERT INTO accounts (name, plan) SELECT 'account ' || n, 'free' FROM generate_series(1, ${ACCOUNTS}) AS n`,
    );
    await database.query(FILL);
    await database.query('VACUUM ANALYZE store_orders');
    const [row] = await database.query<{ id: string }>('SELECT max(id) AS id FROM store_orders');
    lastId = Number(row!.id);
  });
  afterAll(() => database.drop());

  it.each<[string, Filter]>([
    ['the large account', [LARGE, undefined]],
    ['the large account, a frequent status', [LARGE, 'delivered']],
    ['the large account, a rare status', [LARGE, 'cancelled']],
    ['the large account, the last status of the alphabet', [LARGE, 'placed']],
    ['the oldest account', [1, undefined]],
    ['the oldest account, one status', [1, 'placed']],
    ['the newest account', [ACCOUNTS, undefined]],
    ['the newest account, one status', [ACCOUNTS, 'placed']],
    ['all accounts', [undefined, undefined]],
    ['all accounts, a frequent status', [undefined, 'delivered']],
    ['all accounts, a rare status', [undefined, 'cancelled']],
  ])('of %s scans only its index, without a sort, at any depth in both orders', async (_what, filter) => {
    for (const depth of [0, 0.5, 0.999]) {
      for (const direction of DIRECTIONS) {
        const text = JSON.stringify(await planOf(filter, direction, Math.floor(depth * lastId)));
        expect(text.match(/"Index Name":"\w+"/g)).toEqual([`"Index Name":"${indexOf(filter)}"`]);
        expect(text).not.toMatch(/Sort|Seq Scan|Bitmap|"Filter"/);
      }
    }
  });

  function planOf([account, status]: Filter, direction: Direction, first: number) {
    const accountId = account === undefined ? undefined : BigInt(account);
    const [statements, values] = orderPages({ accountId, status });
    return database.query(`EXPLAIN (FORMAT JSON) ${statements[direction].text}`, [
      first,
      101,
      ...values.map(String),
    ]);
  }

  function indexOf([account, status]: Filter): string {
    if (account === undefined) return status === undefined ? 'store_orders_pkey' : 'store_orders_status_id';
    return status === undefined ? 'store_orders_account_id_id' : 'store_orders_account_id_status_id';
  }
});
