import { EVENT_TYPES } from '../../src/events';
import { READ, START } from '../../src/events/events.repository';
import type { TestDatabase } from '../support/database';
import { buffersOf, describeOnEachServer, UNBOUNDED } from '../support/each-server';

const ROWS = 20_000;
const MAX_ID = '9223372036854775807';
const ARE_GENERIC = `SELECT generic_plans::int AS generic FROM pg_prepared_statements WHERE name = 'page'`;

/** The begin of a transaction, one for each second. It may wait for some seconds before it writes. */
const BEGIN = `'2026-11-01T00:00:00.0004Z'::timestamptz + interval '1 s' *`;

/**
 * Events of two types, half of them of one account: an index on the ids would find no other one before their end. A long
 * transaction writes a tenth of them.
 */
const FILL = `
  UPDATE event_log SET shift = 2 * ${ROWS};
  INSERT INTO events (id, created_at, type, account_id, data)
  SELECT CASE WHEN is_long THEN (${ROWS / 2}::bigint << 22) + n ELSE n << 22 END,
    ${BEGIN} (CASE WHEN is_long THEN ${ROWS / 2 - 300} ELSE n - (40 * random() ^ 9)::int END),
    CASE n % 2 WHEN 0 THEN 'pet.created' ELSE 'order.placed' END, CASE n % 2 WHEN 1 THEN 1 END, '{}'
  FROM generate_series(1::bigint, ${ROWS}) AS n, LATERAL (SELECT n BETWEEN ${ROWS / 2} AND ${0.6 * ROWS} AS is_long) AS type`;

/** The last event before the first one that is later than a time. */
const EXPECTED = `
  SELECT max(id)::text AS id FROM events
  WHERE id < coalesce((SELECT min(id) FROM events WHERE created_at >= $1::timestamptz + interval '1 ms'), ${MAX_ID})`;

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

  it('after a time begins before the first later event, also of transactions that overlap, with few buffers', async () => {
    const seconds = [-1, 0, ROWS / 2 - 301, ROWS / 2 - 300, ROWS / 2, 0.6 * ROWS, ROWS, 2 * ROWS];
    for (let at = 0; at < 40; at += 1)
      seconds.push(Math.floor((at * ROWS) / 40), Math.floor(ROWS * (0.48 + at / 2000)));
    for (const second of seconds) {
      const [row] = await database.query<{ time: string }>(`SELECT (${BEGIN} ${second})::text AS time`);
      const [expected] = await database.query<{ id: string | null }>(EXPECTED, [row!.time]);
      const [found] = await database.query<Record<string, string>>(START.text, [row!.time]);
      expect([second, Object.values(found!)]).toEqual([second, [expected!.id ?? '0']]);
      expect(await buffersOf(database, START.text, [row!.time])).toBeLessThan(300);
    }
    await database.query('SET plan_cache_mode = force_generic_plan');
    await database.query(`PREPARE start AS ${START.text}`);
    const plan = JSON.stringify(await database.query('EXPLAIN (FORMAT JSON) EXECUTE start (now())'));
    expect(plan).not.toMatch(UNBOUNDED);
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
