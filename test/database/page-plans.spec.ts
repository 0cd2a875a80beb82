import { ListPetsQuery } from '../../src/pets';
import { petPages } from '../../src/pets/pets.repository';
import { ListOrdersQuery } from '../../src/store-orders';
import { orderPages } from '../../src/store-orders/store-orders.repository';
import { MAX_INT64 } from '../../src/platform/validation/int64';
import type { TestDatabase } from '../support/database';
import { buffersOf, describeOnEachServer, UNBOUNDED } from '../support/each-server';

/** A list, which `-id` sorts the other way. */
type List = (sort: 'id' | '-id') => ReturnType<typeof petPages.select>;
type Case = readonly [what: string, list: List, index: string];

const SORTS = ['id', '-id'] as const;
const pets =
  (filter: Partial<ListPetsQuery>): List =>
  (sort) =>
    petPages.select(Object.assign(new ListPetsQuery(), filter, { sort }));
const orders =
  ({ accountId, ...filter }: Partial<ListOrdersQuery> & { accountId?: bigint }): List =>
  (sort) =>
    orderPages.select(Object.assign(new ListOrdersQuery(), filter, { sort }), { accountId });

const CASES: readonly Case[] = [
  ['animals', pets({}), 'pets_pkey'],
  ['animals of a frequent status', pets({ status: ['available'] }), 'pets_status_id'],
  ['animals of a rare status', pets({ status: ['sold'] }), 'pets_status_id'],
  ['animals of a category', pets({ categoryId: 1n }), 'pets_category_id_id'],
  [
    'animals of a category and status',
    pets({ categoryId: 1n, status: ['pending'] }),
    'pets_category_id_status_id',
  ],
  ['orders', orders({}), 'store_orders_pkey'],
  ['orders of a status', orders({ status: ['approved'] }), 'store_orders_status_id'],
  ['orders of a rare status', orders({ status: ['cancelled'] }), 'store_orders_status_id'],
  ['orders of an account', orders({ accountId: 1n }), 'store_orders_account_id_id'],
  ['orders of a small account', orders({ accountId: 8n }), 'store_orders_account_id_id'],
  [
    'orders of an account and status',
    orders({ accountId: 1n, status: ['approved'] }),
    'store_orders_account_id_status_id',
  ],
];

/** Lists of values: a range of the index for each of them. */
const OF_VALUES: readonly Case[] = [
  ['animals of two statuses', pets({ status: ['available', 'sold'] }), 'pets_status_id'],
  [
    'animals of a category and two statuses',
    pets({ categoryId: 1n, status: ['pending', 'sold'] }),
    'pets_category_id_status_id',
  ],
  ['orders of two statuses', orders({ status: ['placed', 'cancelled'] }), 'store_orders_status_id'],
  [
    'orders of an account and all statuses',
    orders({ accountId: 1n, status: ['placed', 'approved', 'delivered', 'cancelled'] }),
    'store_orders_account_id_status_id',
  ],
];

/** Since a time, or of an animal: the best index depends on the values. */
const OF_ANY_INDEX: readonly [what: string, list: List][] = [undefined, 1n, 8n].flatMap((accountId) =>
  [undefined, ['placed'] as const, ['approved', 'cancelled'] as const].flatMap((status) =>
    [
      { updatedSince: '1990-01-01T00:00:00.000Z' },
      { updatedSince: '2200-01-01T00:00:00.000Z' },
      { petId: 7n },
    ].map((filter): [string, List] => [
      `account ${accountId}, status ${status?.join()}, ${Object.entries(filter).join()}`,
      orders({
        ...(accountId === undefined ? {} : { accountId }),
        ...(status === undefined ? {} : { status }),
        ...filter,
      }),
    ]),
  ),
);

/** The other conditions filter the few rows of the ids. */
const BY_IDS: readonly Partial<ListPetsQuery>[] = [
  { id: [7n, 19_990n] },
  { id: [7n, 19_990n], status: ['sold'] },
  { id: [7n, 19_990n], categoryId: 1n },
  { id: [7n], categoryId: 1n, status: ['sold'] },
];

const ROWS = 20_000;

/** Half of the rows belong to the first of 2,000 groups, so the planner expects a group to be small. */
const GROUP = 'CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 2000 END';

/** Rows of the rare statuses have high ids: a scan of the primary key would be long. */
const FILL = `
  INSERT INTO accounts (name, plan) SELECT 'shop ' || n, 'free' FROM generate_series(1, 2000) AS n;
  INSERT INTO pets (name, category_id, status)
  SELECT 'Rex', ${GROUP}, CASE WHEN n > ${ROWS - 500} THEN 'sold' WHEN n % 3 = 0 THEN 'pending' ELSE 'available' END
  FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO store_orders (account_id, pet_id, status, placed_at)
  SELECT ${GROUP}, n, CASE WHEN n > ${ROWS - 500} THEN 'cancelled' WHEN n % 3 = 0 THEN 'approved' ELSE 'delivered' END, now()
  FROM generate_series(1, ${ROWS}) AS n`;

const GENERIC = `SELECT generic_plans::int AS generic FROM pg_prepared_statements WHERE name = 'page'`;

describeOnEachServer('a page', (createDatabase) => {
  let database: Pick<TestDatabase, 'drop' | 'query'>;
  const open = async () => void (database = await createDatabase());

  // PostgreSQL keeps the plan of the empty table until it analyzes the table.
  describe('of empty tables', () => {
    beforeAll(open);
    afterAll(() => database.drop());

    it.each(CASES)('of %s scans only its index', async (_what, list, index) => {
      await expectIndexAlone(list, index, 'force_generic_plan', [0]);
    });
  });

  describe('with one large category among 2,000, and one large account', () => {
    beforeAll(async () => {
      await open();
      await database.query(FILL);
      await database.query('VACUUM ANALYZE pets, store_orders');
    });
    afterAll(() => database.drop());

    // PostgreSQL may plan a prepared statement for its values or for any values.
    it.each(CASES)('of %s scans only its index, at any depth', async (_what, list, index) => {
      await expectIndexAlone(list, index, 'force_generic_plan', [0]);
      await expectIndexAlone(list, index, 'force_custom_plan', [0, ROWS / 2, ROWS - 100]);
    });

    it.each(BY_IDS)('of animals of ids finds them by their ids: %j', async (filter) => {
      for (const mode of ['force_generic_plan', 'force_custom_plan']) {
        for (const plan of await plansOf(pets(filter), mode, [0, ROWS / 2])) {
          expect(plan).toMatch(/"Index Cond":"[^"]*id = ANY/);
          expect(plan).not.toMatch(/Sort|Seq Scan|Bitmap/);
        }
      }
    });

    it.each(OF_VALUES)(
      'of %s reads at most a page of each value, at any depth',
      async (_what, list, index) => {
        for (const mode of ['force_generic_plan', 'force_custom_plan']) {
          for (const plan of await plansOf(list, mode, [0, ROWS / 2, ROWS - 100])) {
            const scans = plan.match(/"Node Type":"Index Scan"/g)!.length;
            expect(new Set(plan.match(/"Index Name":"\w+"/g))).toEqual(new Set([`"Index Name":"${index}"`]));
            expect(plan.match(/"Node Type":"Limit"/g)).toHaveLength(1 + 2 * scans);
            expect(plan).not.toMatch(UNBOUNDED);
          }
        }
      },
    );

    it.each([...CASES, ...OF_VALUES])('of %s reads few buffers at its end', async (_what, list) => {
      for (const first of [0n, BigInt(ROWS - 10), MAX_INT64]) await expectBuffers(list, first, 30);
    });

    it.each([{}, { accountId: 1n }])('of late orders skips the blocks without one: %j', async (account) => {
      const late = { ...account, updatedSince: '2200-01-01T00:00:00.000Z' };
      await expectBuffers(orders(late), 0n, 30);
      await expectBuffers(orders({ ...late, status: ['delivered'] }), 0n, 30);
    });

    it.each(OF_ANY_INDEX)('of orders of %s is served from an index', async (_what, list) => {
      for (const plan of await plansOf(list, 'force_custom_plan', [0, ROWS / 2])) {
        expect(plan).toMatch(/"Index Name"/);
        expect(plan).not.toMatch(/Seq Scan/);
      }
    });

    it.each(CASES)('of %s is planned once, not for each request', async (_what, list) => {
      await database.query('SET plan_cache_mode = auto');
      for (const sort of SORTS) {
        const { statement, parameters } = list(sort);
        await database.query(`PREPARE page AS ${statement.text}`);
        const execute = `EXECUTE page (${valuesOf(parameters, ROWS / 2, 6)})`;
        // PostgreSQL plans the first five executions for their values, and then compares the costs.
        for (let at = 0; at < 10; at += 1) await database.query(execute);
        const plans = await database.query(GENERIC);
        await database.query('DEALLOCATE page');
        expect([sort, plans]).toEqual([sort, [{ generic: 5 }]]);
      }
    });
  });

  async function expectIndexAlone(list: List, index: string, mode: string, depths: number[]) {
    for (const plan of await plansOf(list, mode, depths)) {
      expect(plan.match(/"Index Name":"\w+"/g)).toEqual([`"Index Name":"${index}"`]);
      expect(plan).not.toMatch(/Sort/);
      expect(plan).not.toMatch(UNBOUNDED);
    }
  }

  /** Expects at most this number of buffers for each value of a filter, for a page of 20. */
  async function expectBuffers(list: List, first: bigint, most: number) {
    for (const sort of SORTS) {
      const { statement, parameters } = list(sort);
      const buffers = await buffersOf(database, statement.text, [first, 21, ...parameters.slice(2)]);
      expect(buffers / statement.text.split('UNION ALL').length).toBeLessThanOrEqual(most);
    }
  }

  /** Returns the plan of each order, from each of these ids. */
  async function plansOf(list: List, mode: string, depths: number[]): Promise<string[]> {
    const plans: string[] = [];
    await database.query(`SET plan_cache_mode = ${mode}`);
    for (const sort of SORTS) {
      const { statement, parameters } = list(sort);
      await database.query(`PREPARE page AS ${statement.text}`);
      for (const first of depths) {
        const execute = `EXECUTE page (${valuesOf(parameters, first, 101)})`;
        plans.push(JSON.stringify(await database.query(`EXPLAIN (FORMAT JSON) ${execute}`)));
      }
      await database.query('DEALLOCATE page');
    }
    return plans;
  }
});

/** Returns the parameters of a page with another first id, and another number of rows. */
function valuesOf(parameters: readonly unknown[], first: number, count: number): string {
  return [first, count, ...parameters.slice(2)].map(literal).join(', ');
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  return Array.isArray(value) ? `'{${value.join(',')}}'` : `'${value as string | bigint}'`;
}
