import { EVENT_TYPES } from '../../src/events';
import { READ } from '../../src/events/events.repository';
import type { TestDatabase } from '../support/database';
import { buffersOf, describeOnEachServer, UNBOUNDED } from '../support/each-server';

const ROWS = 20_000;
const ARE_GENERIC = `SELECT generic_plans::int AS generic FROM pg_prepared_statements WHERE name = 'page'`;

/** Events of two types, half of them of one account: an index on the ids would find no other one before their end. */
const FILL = `
  UPDATE event_log SET shift = ${ROWS};
  INSERT INTO events (id, type, account_id, data)
  SELECT n << 22, CASE n % 2 WHEN 0 THEN 'pet.created' ELSE 'order.placed' END, CASE n % 2 WHEN 1 THEN 1 END, '{}'
  FROM generate_series(1::bigint, ${ROWS}) AS n`;

/** The parameters of staff and of a buyer. */
const CASES: readonly (readonly [reader: string, types: readonly string[], ofOrders: readonly string[]])[] = [
  ['staff, with a type that no event has', ['order.approved'], []],
  ['staff, with all types', EVENT_TYPES, []],
  ['a buyer without orders', [], ['order.approved']],
  ['a buyer, with all types', ['pet.created', 'pet.updated', 'pet.deleted'], ['order.approved']],
];

describeOnEachServer('a page of events', (createDatabase) => {
  let database: Pick<TestDatabase, 'drop' | 'query'>;
  beforeAll(async () => {
    database = await createDatabase();
    await database.query(FILL);
    await database.query('VACUUM ANALYZE events');
  });
  afterAll(() => database.drop());
  beforeEach(() => database.query(`PREPARE page AS ${READ.text}`));
  afterEach(() => database.query('DEALLOCATE page'));

  const execute = (types: readonly string[], ofOrders: readonly string[], after = ROWS / 2) =>
    `EXECUTE page (${after}::bigint << 22, 20, '{${types.join()}}', '{${ofOrders.join()}}', ${ofOrders.length > 0 ? 1 : 'NULL'})`;

  it.each(CASES)('of %s reads a range of an index for each type', async (_reader, types, ofOrders) => {
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await database.query(`SET plan_cache_mode = ${mode}`);
      const plan = JSON.stringify(await database.query(`EXPLAIN (FORMAT JSON) ${execute(types, ofOrders)}`));
      expect(new Set(plan.match(/"Index Name":"\w+"/g))).toEqual(
        new Set([
          '"Index Name":"events_pkey"',
          '"Index Name":"events_type_id"',
          '"Index Name":"events_account_id_type_id"',
        ]),
      );
      expect(plan).not.toMatch(UNBOUNDED);
    }
  });

  // After its last event of a type, the account has ten thousand of another one.
  it.each(CASES)('of %s reads few buffers at the end of the feed', async (_reader, types, ofOrders) => {
    expect(await buffersOf(database, execute(types, ofOrders, ROWS))).toBeLessThan(60);
  });

  // PostgreSQL compares the costs for the values of five executions with that for any values.
  it('is planned once, because no value changes the cost', async () => {
    await database.query('SET plan_cache_mode = force_custom_plan');
    const costs = new Set<string>();
    for (const [, types, ofOrders] of CASES) {
      const [row] = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${execute(types, ofOrders)}`);
      costs.add(/cost=(\S+)/.exec(row!['QUERY PLAN'])![1]!);
    }
    expect([...costs]).toHaveLength(1);
    await database.query('SET plan_cache_mode = auto');
    const [, types, ofOrders] = CASES[0]!;
    for (let at = 0; at < 10; at += 1) await database.query(execute(types, ofOrders));
    const [plans] = await database.query<{ generic: number }>(ARE_GENERIC);
    expect(plans!.generic).toBeGreaterThanOrEqual(5);
  });
});
