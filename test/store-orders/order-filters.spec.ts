import { ORDER_STATUSES } from '../../src/store-orders/order-status';
import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { linksOf } from '../support/links';
import { followPages, idsOf } from '../support/paging.contract';

const PATH = '/v1/store/orders';
const START = Date.parse('2026-11-21T12:00:00Z');
const ACCOUNTS = ['shop', 'zoo', 'nobody'];

/** An order of the table. */
interface Row {
  readonly id: number;
  readonly account: string;
  readonly petId: number;
  readonly status: string;
  readonly updated: number;
}

/** A filter of a request, and the orders that it means. */
type Filter = readonly [query: string, has: (row: Row) => boolean];

const ANY: Filter = ['', () => true];

const ofStatuses = (...statuses: readonly string[]): Filter => [
  statuses.map((status) => `&status=${status}`).join(''),
  ({ status }) => statuses.includes(status),
];
const since = (minutes: number): Filter => {
  const time = START + minutes * 60_000;
  return [`&updatedSince=${new Date(time).toISOString()}`, ({ updated }) => updated >= time];
};

const FILTERS: readonly (readonly Filter[])[] = [
  [ANY, ...ACCOUNTS.map((name): Filter => [`&account=${name}`, ({ account }) => account === name])],
  [ANY, ofStatuses('approved'), ofStatuses('cancelled', 'placed'), ofStatuses(...ORDER_STATUSES)],
  [ANY, ['&petId=3', ({ petId }) => petId === 3], ['&petId=9223372036854775807', () => false]],
  [ANY, since(-9), since(20), since(9_999)],
  [ANY, ['&sort=-id', () => true]],
];

function combinationsOf(all: readonly (readonly Filter[])[]): readonly (readonly Filter[])[] {
  return all.reduce<readonly (readonly Filter[])[]>(
    (some, filters) => some.flatMap((each) => filters.map((filter) => [...each, filter])),
    [[]],
  );
}

/** Orders in three blocks of ids, with gaps; later ids are not always changed later. */
const FILL = `
  INSERT INTO store_orders (id, account_id, pet_id, status, placed_at, updated_at) OVERRIDING SYSTEM VALUE
  SELECT $5::int + n * 151, (SELECT id FROM accounts WHERE name = ($1::text[])[1 + n % 2]),
    CASE ($2::text[])[1 + n / 2 % 4] WHEN 'placed' THEN 1000 + $5 + n WHEN 'approved' THEN 500000 + $5 + n ELSE n % 7 END,
    ($2::text[])[1 + n / 2 % 4], $3::timestamptz, $3::timestamptz + n * 37 % 60 * interval '1 minute'
  FROM generate_series(1, $4) AS n`;

describe('the filters of listOrders', () => {
  let app: TestApp;
  let staff: string;
  let rows: Row[];
  beforeAll(async () => {
    // Orders without an expiry would get one meanwhile, and another updatedAt.
    const settings: GivenConfig = { orderExpiresAfterHours: 0 };
    app = await startApp(settings);
    staff = await app.unlimitedKey();
    for (const account of ACCOUNTS) await app.createKey({ account });
    await fill(60, 0);
  });
  afterAll(() => app.close());

  const fill = async (count: number, after: number) => {
    await app.database.query(FILL, [ACCOUNTS, ORDER_STATUSES, new Date(START), count, after]);
    rows = await app.database.query<Row>(`
      SELECT o.id::float8, a.name AS account, pet_id::float8 AS "petId", status,
        extract(epoch FROM updated_at)::float8 * 1000 AS updated
      FROM store_orders o JOIN accounts a ON a.id = o.account_id ORDER BY o.id`);
  };
  const expectModel = async (combinations: readonly (readonly Filter[])[], limit: number) => {
    for (const filters of combinations) {
      const texts = filters.map(([text]) => text).join('');
      const query = texts.includes('account=') ? texts : `&account=*${texts}`;
      const expected = rows.filter((row) => filters.every(([, has]) => has(row))).map(({ id }) => id);
      if (query.endsWith('sort=-id')) expected.reverse();
      const ids = await followPages(app, staff, `${PATH}?limit=${limit}${query}`);
      expect({ query, ids }).toEqual({ query, ids: expected });
    }
  };
  const get = (query: string) => app.get(`${PATH}?account=*${query}`, { key: staff });
  const cursorOf = async (query: string) =>
    new URL(linksOf(await get(`${query}&limit=2`))['next']!, app.url).searchParams.get('cursor')!;

  it('find the same orders as a model, in every combination, over all pages and in both orders', async () => {
    const combinations = combinationsOf(FILTERS);
    await expectModel(combinations, 9);
    expect(combinations).toHaveLength(4 * 4 * 3 * 4 * 2);
  });

  it('find the same orders as a model if more than a thousand are later than the time', async () => {
    await fill(2_100, 1_000_000);
    const some = FILTERS.map((filters) => filters.slice(0, 3));
    await expectModel(
      combinationsOf([some[0]!.slice(0, 2), some[1]!, some[2]!.slice(0, 2), [since(0)], some[4]!]),
      100,
    );
    await app.database.query('DELETE FROM store_orders WHERE id > 1000000');
    rows = rows.filter(({ id }) => id <= 1_000_000);
  });

  it('take repeated statuses in any order: the pages and their cursors are the same', async () => {
    const first = await get('&status=placed&status=cancelled&limit=2');
    expect(linksOf(first)['next']).toContain('&status=placed&status=cancelled&');
    const other = await get('&status=cancelled&status=placed&limit=2');
    expect([other.text, other.headers['link']]).toEqual([first.text, first.headers['link']]);
    const cursor = await cursorOf('&status=cancelled&status=placed');
    expect((await get(`&status=placed&status=cancelled&cursor=${cursor}`)).status).toBe(200);
  });

  it('take a time with any offset, to the nanosecond: the pages and their cursors are the same', async () => {
    const time = '2026-11-21T12:20:00.000Z';
    const expected = await get(`&updatedSince=${time}&limit=2`);
    expect(idsOf(expected)).toHaveLength(2);
    for (const same of [
      '2026-11-21T12:20:00Z',
      '2026-11-21t12:20:00z',
      '2026-11-21T12:20:00.000000001Z',
      '2026-11-21T14:20:00%2B02:00',
      '2026-11-20T23:50:00-12:30',
    ]) {
      const response = await get(`&updatedSince=${same}&limit=2`);
      expect([same, response.text, response.headers['link']]).toEqual([
        same,
        expected.text,
        expected.headers['link'],
      ]);
    }
  });
});
