import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { PET_STATUSES } from '../../src/pets';
import { petPages } from '../../src/pets/pets.repository';
import { MAX_INT64, MIN_INT64 } from '../../src/platform/validation/int64';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { linksOf } from '../support/links';
import { followPages, idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { createPatientDatabase } from '../support/patience';
import { until } from '../support/until';

const CATEGORIES = ['1', '2', '9223372036854775807'];
const SORTS = ['', '-id'];

/** An animal of the table. */
interface Row {
  readonly id: number;
  readonly categoryId: string;
  readonly status: string;
}

describe('reading animals', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { database: await createPatientDatabase() });
  });
  afterAll(() => app.close());

  describe('GET /v1/pets finds animals', () => {
    let key: string;
    let rows: Row[];
    beforeAll(async () => {
      key = await app.unlimitedKey();
      await app.database.truncate('pets RESTART IDENTITY CASCADE');
      await app.database.query(
        `INSERT INTO pets (name, category_id, status)
         SELECT 'animal', ($1::bigint[])[1 + n % 3], ($2::text[])[1 + n / 3 % 3] FROM generate_series(0, 35) AS n`,
        [CATEGORIES, PET_STATUSES],
      );
      // int8 is text in the driver, and float8 a number.
      rows = await app.database.query<Row>(
        'SELECT id::float8, category_id AS "categoryId", status FROM pets ORDER BY id',
      );
    });

    afterEach(() => app.database.query('DELETE FROM pets WHERE category_id IN (7, 8)'));

    const get = (query: string) => app.get(`/v1/pets?${query}`, { key });

    const choices = [[], ...PET_STATUSES.map((status) => [status]), ['sold', 'available'], PET_STATUSES];
    const combinations = choices.flatMap((statuses: readonly string[]) =>
      [undefined, ...CATEGORIES].flatMap((categoryId) =>
        [false, true].flatMap((hasIds) => SORTS.map((sort) => ({ statuses, categoryId, hasIds, sort }))),
      ),
    );

    it('by every combination of status, categoryId, id and sort, over all pages', async () => {
      const ids = [5, 3, 30, 30, 1, 27, 12, 4711];
      for (const { statuses, categoryId, hasIds, sort } of combinations) {
        const query = [
          `limit=${hasIds ? 2 : 9}`,
          ...(hasIds ? ids.map((id) => `id=${id}`) : []),
          ...(categoryId === undefined ? [] : [`categoryId=${categoryId}`]),
          ...statuses.map((status) => `status=${status}`),
          ...(sort === '' ? [] : [`sort=${sort}`]),
        ].join('&');
        const expected = rows
          .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
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
        const ofOthers = linksOf(response)['next']!.replace(`id=${MAX_INT64 - 99n}`, 'id=1');
        expectError(await app.get(ofOthers, { key }), 400, 'invalid_cursor');
        const found = await followPages(app, key, `/v1/pets?${ids}&limit=60&sort=${sort}`);
        expect(found).toHaveLength(100);
      }
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
          expect((await app.get(`/v1/pets/${edge}`, { key })).text).toContain(`"id":${edge},`);
          const list = `/pets?categoryId=8${sort === 'id' ? '' : '&sort=-id'}`;
          const cursor = Buffer.from(`${edge}@${list}`).toString('base64url');
          expect((await get(`categoryId=8&sort=${sort}&cursor=${cursor}`)).status).toBe(200);
        }
      }
    });
  });

  describe('GET /v1/pets/{petId} (getPet, deprecated)', () => {
    beforeAll(async () => {
      await app.database.truncate('pets RESTART IDENTITY CASCADE');
      await fillPets(app, 1);
    });

    const deprecation = ({ headers }: HttpResponse) => [
      headers['deprecation'],
      headers['sunset'],
      headers['link'],
    ];
    const announced = (successor: string) => [
      '@1795219200',
      'Thu, 05 Dec 2030 00:00:00 GMT',
      `<${successor}>; rel="successor-version"`,
    ];
    const nothing = [undefined, undefined, undefined];

    it.each(['2', '9223372036854775808', '01', '1.0', '1%00', '..%2f1', '9'.repeat(2_000)])(
      '404 pet_not_found for petId %.40s',
      async (petId) => {
        expectError(await app.get(`/v1/pets/${petId}`), 404, 'pet_not_found');
      },
    );

    it('sends the deprecation headers with 200, HEAD, 401, 403 and 404', async () => {
      const { key: writeOnly } = await app.createKey({ scopes: ['pets:write'] });
      const found = announced('/v1/pets?id=1');
      expect(deprecation(await app.get('/v1/pets/1'))).toEqual(found);
      expect(deprecation(await app.send('HEAD', '/v1/pets/1'))).toEqual(found);
      expect(deprecation(await app.get('/v1/pets/1', { key: undefined }))).toEqual(found);
      expect(deprecation(await app.get('/v1/pets/1', { key: writeOnly }))).toEqual(found);
      expect(deprecation(await app.get('/v1/pets/2'))).toEqual(announced('/v1/pets?id=2'));
      expect(deprecation(await app.get('/v1/pets/-7'))).toEqual(announced('/v1/pets?id=-7'));
      for (const id of ['abc', '01', '9223372036854775808', '%3E'])
        expect(deprecation(await app.get(`/v1/pets/${id}`))).toEqual(announced('/v1/pets'));
      expect(deprecation(await app.get('/v1/pets/abc', { key: undefined }))).toEqual(announced('/v1/pets'));
    });

    it('its successor returns the same animal', async () => {
      const response = await app.get('/v1/pets/1');
      const successor = /<([^>]+)>/.exec(String(response.headers['link']))![1]!;
      expect((await app.get(successor)).text).toBe(`[${response.text}]`);
    });

    it('sends no deprecation headers with the 405 of another method, nor for other operations', async () => {
      const wrongMethod = await app.send('POST', '/v1/pets/1');
      expectError(wrongMethod, 405, 'method_not_allowed');
      expect(deprecation(wrongMethod)).toEqual(nothing);
      expect(deprecation(await app.get('/v1/pets'))).toEqual(nothing);
    });
  });

  describe('GET /v1/pets (listPets)', () => {
    it('200 does not mix concurrent requests for other statuses, limits and cursors', async () => {
      await (await noPets(app)).fill(11, ['available', 'pending', 'sold']);
      const addresses = ['', '&status=available', '&status=pending', '&status=sold'].map(
        (filter) => `/v1/pets?limit=3${filter}`,
      );
      addresses.push('/v1/pets?limit=4', linksOf(await app.get(addresses[0]!))['next']!);
      const expected: number[][] = [];
      for (const address of addresses) expected.push(idsOf(await app.get(address)));
      const read = jest.spyOn(CoalescedRead.prototype, 'read');
      await app.database.query('BEGIN');
      await app.database.query('LOCK TABLE pets');
      // Twice, so that each address also waits for the query after the running one.
      const asked = [...addresses, ...addresses].map((address) => app.get(address));
      try {
        await until(() => read.mock.calls.length === asked.length);
      } finally {
        await app.database.query('COMMIT');
        read.mockRestore();
      }
      expect((await Promise.all(asked)).map(idsOf)).toEqual([...expected, ...expected]);
      expect(new Set(expected.map(String)).size).toBe(addresses.length);
    });

    it('200 has an animal that was added before the request, also while an earlier request for the page runs', async () => {
      const read = petPages.read.bind(petPages);
      const shared = jest.spyOn(CoalescedRead.prototype, 'read');
      const hasRead = jest.fn();
      jest.spyOn(petPages, 'read').mockImplementationOnce(async (...given) => {
        const page = await read(...given);
        hasRead();
        await until(() => shared.mock.calls.length === 2);
        return page;
      });
      const early = app.get('/v1/pets?sort=-id');
      await until(() => hasRead.mock.calls.length === 1);
      const { id } = (await app.post('/v1/pets', aNewPet())).json;
      const late = app.get('/v1/pets?sort=-id');
      expect([idsOf(await early).includes(id), idsOf(await late).includes(id)]).toEqual([false, true]);
      jest.restoreAllMocks();
    });

    pagingContract('/pets', PET_STATUSES, () => app, noPets);
  });

  it('builds Link and Location from PUBLIC_BASE_URL, never from the Host header', async () => {
    const other = await startApp({ publicBaseUrl: 'https://api.example.com/v1' }, { beside: app });
    await fillPets(app, 2);
    const headers = { host: 'evil.example' };
    const list = await other.get('/v1/pets?limit=1', { headers });
    expect(linksOf(list)['next']).toMatch(/^https:\/\/api\.example\.com\/v1\/pets\?limit=1&cursor=/);
    const created = await other.post('/v1/pets', { name: 'Rex', categoryId: 1 }, { headers });
    const { id } = /"id":(?<id>\d+)/.exec(created.text)!.groups!;
    expect(created.headers['location']).toBe(`https://api.example.com/v1/pets/${id}`);
    await other.close();
  });
});

/** Empties the table of animals. */
async function noPets({ key, database }: TestApp): Promise<PagedList> {
  await database.query('DELETE FROM pets');
  return {
    key,
    fill: (count, statuses) => fillPets({ database }, count, statuses),
    storedIds: async () =>
      (await database.query<Row>('SELECT id::float8 FROM pets ORDER BY id')).map(({ id }) => id),
  };
}
