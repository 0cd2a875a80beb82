import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { PET_STATUSES } from '../../src/pets';
import { ORDER_STATUSES } from '../../src/store-orders/order-status';
import { startApp, type TestApp } from '../support/app';
import { linksOf } from '../support/links';

const [MIN, MAX] = [-(2n ** 63n), 2n ** 63n - 1n];
const ACCOUNTS = ['shop', 'zoo & co', 'nobody'];
const DEFAULT_LIMIT = 20;

/** A row of a list: its id, and its other members by the name of their filter. */
type Row = Readonly<Record<string, string>> & { readonly id: string };
/** The parameters of a request. */
type Query = Readonly<Record<string, readonly string[]>>;

/** A list whose rows are random. */
interface List {
  readonly path: string;
  readonly ids: readonly bigint[];
  /** The other members of a row. */
  readonly members: (id: string) => fc.Arbitrary<Record<string, string>>;
  readonly filters: Readonly<Record<string, fc.Arbitrary<readonly string[]>>>;
  /** Inserts the rows of `$1`, as JSON. */
  readonly insert: string;
  /** Rows and two queries of past incidents. */
  readonly examples: readonly Example[];
}
type Example = [rows: Row[], queries: [Query, Query]];

const single = (...values: readonly string[]) => fc.constantFrom(...values.map((value) => [value]));
const some = (values: readonly string[]) => fc.shuffledSubarray([...values], { minLength: 1 });
const range = (count: number, first: bigint) => Array.from({ length: count }, (_, at) => first + BigInt(at));
const texts = (ids: readonly bigint[]) => ids.map(String);

const PET_IDS = [...range(3, MIN), ...range(3, -1n), ...range(25, 2n ** 53n - 2n), ...range(3, MAX - 2n)];
const ORDER_IDS = [...range(3, 1n), ...range(25, 4_090n), ...range(2, 12_288n), ...range(3, 2n ** 53n)];
const HIGHEST = texts(range(100, MAX - 99n));

const PETS: List = {
  path: '/v1/pets',
  ids: PET_IDS,
  members: () =>
    fc.record({
      status: fc.constantFrom(...PET_STATUSES),
      categoryId: fc.constantFrom('1', '-2', String(MAX)),
    }),
  filters: {
    status: some(PET_STATUSES),
    categoryId: single('1', '-2', '3', String(MAX)),
    id: fc.array(fc.constantFrom(...texts([...PET_IDS, 4_711n])), { minLength: 1, maxLength: 30 }),
  },
  insert: `
    INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
    SELECT id, 'Rex', "categoryId", status
    FROM json_to_recordset($1) AS row (id bigint, "categoryId" bigint, status text)`,
  examples: [
    // The links of 100 long ids are shorter than the longest URL, and their cursors are of these ids only.
    [
      HIGHEST.map((id) => ({ id, status: 'sold', categoryId: '1' })),
      [
        { id: HIGHEST, limit: ['60'] },
        { id: [...HIGHEST.slice(1), '1'], limit: ['60'] },
      ],
    ],
    // The order of repeated statuses has no meaning.
    [
      HIGHEST.map((id) => ({ id, status: 'sold', categoryId: '1' })),
      [{ status: ['sold', 'available'] }, { status: ['available', 'sold'] }],
    ],
  ],
};

const ORDERS: List = {
  path: '/v1/store/orders',
  ids: ORDER_IDS,
  // An animal has at most one open order.
  members: (id) =>
    fc
      .record({
        account: fc.constantFrom(...ACCOUNTS.slice(0, 2)),
        status: fc.constantFrom(...ORDER_STATUSES),
        petId: fc.constantFrom('3', String(MAX)),
      })
      .map((row) => (/placed|approved/.test(row.status) ? { ...row, petId: id } : row)),
  filters: {
    account: single(...ACCOUNTS),
    status: some(ORDER_STATUSES),
    petId: single('3', String(MAX), '4711', ...texts(ORDER_IDS)),
  },
  insert: `
    INSERT INTO store_orders (id, account_id, pet_id, status, placed_at, updated_at) OVERRIDING SYSTEM VALUE
    SELECT row.id, accounts.id, "petId", status, now(), now()
    FROM json_to_recordset($1) AS row (id bigint, account text, "petId" bigint, status text)
    JOIN accounts ON name = account`,
  examples: [],
};

/** Returns the ids of the rows that a query means, in its order. */
function idsFor(rows: readonly Row[], query: Query): string[] {
  const filters = Object.entries(query).filter(([name]) => !/^(limit|sort)$/.test(name));
  const ids = rows
    .filter((row) => filters.every(([name, values]) => values.includes(row[name]!)))
    .map(({ id }) => BigInt(id))
    .toSorted((one, other) => Number(one - other));
  return texts(query['sort']?.[0] === '-id' ? ids.toReversed() : ids);
}

/** True if two queries differ only in the order of their statuses. */
const isSame = (one: Query, other: Query) =>
  isDeepStrictEqual(
    { ...one, status: one['status']?.toSorted() },
    { ...other, status: other['status']?.toSorted() },
  );

describe('pages', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    // Orders without an expiry would get one meanwhile, and another updatedAt.
    app = await startApp({ orderExpiresAfterHours: 0 } as object);
    key = await app.unlimitedKey();
    for (const account of ACCOUNTS) await app.createKey({ account });
  });
  afterAll(() => app.close());

  const get = (path: string) => app.get(path, { key });
  const idsIn = ({ text }: { text: string }) => [...text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id);
  const pathOf = ({ path }: List, query: Query) => {
    const all = path === ORDERS.path ? { account: ['*'], ...query } : query;
    const pairs = Object.entries(all).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return `${path}?${new URLSearchParams(pairs).toString()}`;
  };
  const fill = async ({ insert }: List, rows: readonly Row[]) => {
    await app.database.query('DELETE FROM pets; DELETE FROM store_orders');
    await app.database.query(insert, [JSON.stringify(rows)]);
  };
  /** Follows `next`. @returns the URL of the first page, as links have it, and the last cursor */
  const expectPages = async (list: List, rows: readonly Row[], query: Query) => {
    const limit = Number(query['limit']?.[0] ?? DEFAULT_LIMIT);
    const ids = idsFor(rows, query);
    let path: string | undefined = pathOf(list, query);
    let first: string | undefined;
    let cursor: string | undefined;
    for (let at = 0; path !== undefined; at += limit) {
      const page = await get(path);
      const { next, ...links } = linksOf(page);
      expect({ path, ids: idsIn(page), links, hasNext: next !== undefined }).toEqual({
        path,
        ids: ids.slice(at, at + limit),
        links: at === 0 ? {} : { first },
        hasNext: at + limit < ids.length,
      });
      path = next;
      [, first = first, cursor = cursor] = /^(.*)&cursor=([\w-]+)$/.exec(next ?? '') ?? [];
    }
    if (first !== undefined) expect(idsIn(await get(first))).toEqual(ids.slice(0, limit));
    return { first, cursor };
  };

  it.each([PETS, ORDERS])(
    '$path: for all rows and filters the pages that Link leads to are the matching rows in the order of `sort`, and a cursor is of its filters',
    async (list) => {
      const limit = single('2', '3', '7', '25', '100');
      const query: fc.Arbitrary<Query> = fc.record(
        { ...list.filters, sort: single('id', '-id'), limit },
        { requiredKeys: [] },
      );
      const rows = fc
        .subarray(texts(list.ids))
        .chain((ids) => fc.tuple(...ids.map((id) => list.members(id).map((row): Row => ({ id, ...row })))));
      const property = fc.asyncProperty(rows, fc.tuple(query, query), async (given, queries) => {
        await fill(list, given);
        const [one, other] = [
          await expectPages(list, given, queries[0]),
          await expectPages(list, given, queries[1]),
        ];
        if (one.first === undefined || other.first === undefined) return;
        const lists = [one, other].map(({ first }) => first!.replace(/limit=\d+/, ''));
        const mixed = await get(`${other.first}&cursor=${one.cursor}`);
        const isSameList = lists[0] === lists[1] || isSame(...queries);
        expect(mixed.status === 200 ? [] : [mixed.json.code]).toEqual(isSameList ? [] : ['invalid_cursor']);
      });
      await fc.assert(property, { numRuns: 20, examples: [...list.examples] });
    },
  );

  it.each([PETS, ORDERS])(
    '$path: rows that are inserted meanwhile make no page repeat or skip another',
    async (list) => {
      const [members] = fc.sample(list.members('1'), 1);
      const rowsOf = (ids: readonly bigint[]) => texts(ids).map((id) => ({ ...members!, id, petId: id }));
      await fill(list, rowsOf(range(40, 1n).map((id) => id * 10n)));
      const seen: string[] = [];
      for (let path: string | undefined = pathOf(list, { limit: ['7'] }), at = 1n; path; at += 1n) {
        const page = await get(path);
        seen.push(...idsIn(page).map(String));
        // Before and behind the page.
        await app.database.query(list.insert, [
          JSON.stringify(rowsOf([70n * at - 1n, 70n * at + 1n, 500n + at])),
        ]);
        path = linksOf(page)['next'];
      }
      expect(seen).toEqual([...new Set(seen)].toSorted((one, other) => Number(one) - Number(other)));
      expect(seen).toEqual(expect.arrayContaining(texts(range(40, 1n).map((id) => id * 10n))));
    },
  );
});
