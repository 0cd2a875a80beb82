import { MAX_INT64, MIN_INT64 } from '../../src/platform/http/int64';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { followPages, idsOf } from '../support/paging.contract';

const STATUSES = ['available', 'pending', 'sold'];
const CATEGORIES = ['1', '2', '9223372036854775807'];
const SORTS = ['', 'id', '-id'];

/** An animal of the table. */
interface Row {
  readonly id: number;
  readonly categoryId: string;
  readonly status: string;
}

describe('GET /v1/pets finds animals', () => {
  let app: TestApp;
  let key: string;
  let rows: Row[];
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
    await app.database.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT 'animal', ($1::bigint[])[1 + n % 3], ($2::text[])[1 + n / 3 % 3] FROM generate_series(0, 35) AS n`,
      [CATEGORIES, STATUSES],
    );
    rows = (
      await app.database.query<{ id: string; category_id: string; status: string }>(
        'SELECT id, category_id, status FROM pets ORDER BY id',
      )
    ).map(({ id, category_id, status }) => ({ id: Number(id), categoryId: category_id, status }));
  });
  afterAll(() => app.close());

  const get = (query: string) => app.get(`/v1/pets?${query}`, { key });

  const combinations = [undefined, ...STATUSES].flatMap((status) =>
    [undefined, ...CATEGORIES].flatMap((categoryId) =>
      [false, true].flatMap((hasIds) => SORTS.map((sort) => ({ status, categoryId, hasIds, sort }))),
    ),
  );

  it('by every combination of status, categoryId, id and sort, over all pages', async () => {
    const ids = [5, 3, 30, 30, 1, 27, 12, 4711];
    for (const { status, categoryId, hasIds, sort } of combinations) {
      const query = [
        'limit=9',
        ...(hasIds ? ids.map((id) => `id=${id}`) : []),
        ...(categoryId === undefined ? [] : [`categoryId=${categoryId}`]),
        ...(status === undefined ? [] : [`status=${status}`]),
        ...(sort === '' ? [] : [`sort=${sort}`]),
      ].join('&');
      const expected = rows
        .filter((row) => status === undefined || row.status === status)
        .filter((row) => categoryId === undefined || row.categoryId === categoryId)
        .filter(({ id }) => !hasIds || ids.includes(id))
        .map(({ id }) => id);
      if (sort === '-id') expected.reverse();
      expect({ query, ids: await followPages(app, key, `/v1/pets?${query}`) }).toEqual({
        query,
        ids: expected,
      });
    }
  });

  it('with the filters and the sort in `next` and `first`', async () => {
    const query = 'limit=2&id=7&id=9&id=8&categoryId=2&sort=-id';
    const first = await get(`${query}&id=5&id=2`);
    expect(first.headers['link']).toMatch(
      /^<\/v1\/pets\?limit=2&id=7&id=9&id=8&id=5&id=2&categoryId=2&sort=-id&cursor=[\w-]+>; rel="next"$/,
    );
  });

  it('in pages of 100 ids of 19 digits, whose links are shorter than the longest URL', async () => {
    const ids = Array.from({ length: 100 }, (_, at) => `id=${MAX_INT64 - BigInt(at)}`).join('&');
    await app.database.query(
      `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
       SELECT $1::bigint - n, 'high', 7, 'sold' FROM generate_series(0, 99) AS n`,
      [MAX_INT64],
    );
    for (const sort of ['id', '-id']) {
      const response = await get(`${ids}&limit=60&sort=${sort}`);
      expect(response.json).toHaveLength(60);
      const found = await followPages(app, key, `/v1/pets?${ids}&limit=60&sort=${sort}`);
      expect(found).toHaveLength(100);
    }
    await app.database.query('DELETE FROM pets WHERE category_id = 7');
  });

  it('with the lowest and the highest possible id, in both orders', async () => {
    await app.database.query(
      `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
       VALUES ($1, 'lowest', 8, 'sold'), ($2, 'highest', 8, 'sold')`,
      [MIN_INT64, MAX_INT64],
    );
    for (const [sort, order] of [
      ['id', [MIN_INT64, MAX_INT64]],
      ['-id', [MAX_INT64, MIN_INT64]],
    ] as const) {
      const { text } = await get(`categoryId=8&sort=${sort}`);
      expect(text.match(/"id":-?\d+/g)).toEqual(order.map((id) => `"id":${id}`));
      for (const edge of [MIN_INT64, MAX_INT64]) {
        const list = `/pets?categoryId=8${sort === 'id' ? '' : '&sort=-id'}`;
        const cursor = Buffer.from(`${edge}@${list}`).toString('base64url');
        expect((await get(`categoryId=8&sort=${sort}&cursor=${cursor}`)).status).toBe(200);
      }
    }
    await app.database.query('DELETE FROM pets WHERE category_id = 8');
  });

  it('with a cursor only for the same filters and the same sort', async () => {
    const cursorOf = async (query: string) =>
      /cursor=([\w-]+)/.exec(String((await get(query)).headers['link']))![1];
    const cursor = await cursorOf('limit=2&categoryId=1&sort=-id');
    expect((await get(`categoryId=1&sort=-id&cursor=${cursor}`)).status).toBe(200);
    for (const other of [
      'categoryId=1',
      'categoryId=2&sort=-id',
      'sort=-id',
      'categoryId=1&status=sold&sort=-id',
    ]) {
      expectError(await get(`${other}&cursor=${cursor}`), 400, 'invalid_cursor');
    }
    const ofIds = await cursorOf('limit=1&id=1&id=2');
    expectError(await get(`id=1&id=3&cursor=${ofIds}`), 400, 'invalid_cursor');
    expect(idsOf(await get(`id=1&id=2&sort=id&cursor=${ofIds}`))).toEqual([2]);
  });

  it.each([
    ['id', 'id='],
    ['id', 'id=1&id='],
    ['id', 'id=abc'],
    ['id', 'id=1.0'],
    ['id', 'id=01'],
    ['id', 'id=1,2'],
    ['id', 'id=9223372036854775808'],
    ['id', Array.from({ length: 101 }, (_, at) => `id=${at}`).join('&')],
    ['categoryId', 'categoryId='],
    ['categoryId', 'categoryId=1&categoryId=2'],
    ['categoryId', 'categoryId=1e1'],
    ['categoryId', 'categoryId=-9223372036854775809'],
    ['sort', 'sort='],
    ['sort', 'sort=name'],
    ['sort', 'sort=ID'],
    ['sort', 'sort=-id&sort=id'],
    ['sort', 'sort=%2Did%20'],
  ])('400 validation_failed names %s for %.30s', async (name, query) => {
    const response = await get(query);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain(name);
  });

  it('as an empty page if no animal matches', async () => {
    for (const query of [
      'id=4711',
      'categoryId=4711',
      'id=1&categoryId=4711',
      'categoryId=-1&status=sold&sort=-id',
    ]) {
      expect(await get(query)).toMatchObject({ status: 200, text: '[]' });
    }
  });
});
