import { type PetFilter, petPages } from '../../src/pets/pet-pages';
import { DIRECTIONS } from '../../src/platform/http/page';
import { type OrderFilter, orderPages } from '../../src/store-orders/order-pages';
import { startApp, type TestApp } from '../support/app';

type Case = readonly [what: string, pages: ReturnType<typeof petPages>, index: string];

const pets = (filter: PetFilter): ReturnType<typeof petPages> => petPages(filter);
const orders = (filter: Partial<OrderFilter>): ReturnType<typeof orderPages> =>
  orderPages({ accountId: undefined, status: undefined, ...filter });

const CASES: readonly Case[] = [
  ['animals', pets({}), 'pets_pkey'],
  ['animals of a status', pets({ status: 'sold' }), 'pets_status_id'],
  ['animals of a category', pets({ categoryId: 1n }), 'pets_category_id_id'],
  [
    'animals of a category and status',
    pets({ categoryId: 1n, status: 'sold' }),
    'pets_category_id_status_id',
  ],
  ['orders', orders({}), 'store_orders_pkey'],
  ['orders of a status', orders({ status: 'approved' }), 'store_orders_status_id'],
  ['orders of an account', orders({ accountId: 1n }), 'store_orders_account_id_id'],
  [
    'orders of an account and status',
    orders({ accountId: 1n, status: 'approved' }),
    'store_orders_account_id_status_id',
  ],
];

/** Half of 20,000 rows belong to the first of 2,000 groups, so the planner expects a group to be small. */
const GROUP = 'CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 2000 END';

describe('a page', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await app.database.query('SET plan_cache_mode = force_generic_plan');
  });
  afterAll(() => app.close());

  // In this order: PostgreSQL keeps the plan of the empty table until it analyzes the table.
  it.each(CASES)('of %s scans only its index if the tables are empty', async (_what, pages, index) => {
    await expectIndexAlone(pages, index);
  });

  describe('with one large category among 2,000, and one large account', () => {
    beforeAll(async () => {
      await app.database.query(
        `INSERT INTO accounts (name, plan) SELECT 'shop ' || n, 'free' FROM generate_series(1, 2000) AS n`,
      );
      await app.database.query(
        `INSERT INTO pets (name, category_id, status)
         SELECT 'Rex', ${GROUP}, CASE WHEN n % 3 = 0 THEN 'sold' ELSE 'available' END FROM generate_series(1, 20000) AS n`,
      );
      await app.database.query(
        `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
         SELECT ${GROUP}, n, CASE WHEN n % 3 = 0 THEN 'approved' ELSE 'delivered' END, now()
         FROM generate_series(1, 20000) AS n`,
      );
      await app.database.query('VACUUM ANALYZE pets, store_orders');
    });

    it.each(CASES)('of %s scans only its index', async (_what, pages, index) => {
      await expectIndexAlone(pages, index);
    });
  });

  async function expectIndexAlone([statements, values]: Case[1], index: string): Promise<void> {
    for (const direction of DIRECTIONS) {
      await app.database.query(`PREPARE page AS ${statements[direction].text}`);
      const list = [0, 101, ...values].map((value) => `'${String(value)}'`).join(', ');
      const [plan] = await app.database.query(`EXPLAIN (FORMAT JSON) EXECUTE page (${list})`);
      await app.database.query('DEALLOCATE page');
      const text = JSON.stringify(plan);
      expect(text.match(/"Index Name":"\w+"/g)).toEqual([`"Index Name":"${index}"`]);
      expect(text).not.toMatch(/Sort|Seq Scan|Bitmap|"Filter"/);
    }
  }
});
