import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { PET_STATUSES } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { fillPets, moveSequence } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { linksOf } from '../support/links';
import { idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { until } from '../support/until';

describe('reading animals', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await fillPets(app, 1);
  });
  afterAll(() => app.close());

  describe('GET /v1/pets/{petId} (getPet, deprecated)', () => {
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

    it('200 returns the animal', async () => {
      const response = await app.get('/v1/pets/1');
      expect(response.status).toBe(200);
      expect(response.json).toEqual({ id: 1, name: 'animal 1', categoryId: 1, status: 'available' });
    });

    it('200 returns animals with negative ids and the id 0', async () => {
      const ids = ['-9223372036854775808', '-7', '0'];
      for (const id of ids) {
        await app.database.query(
          `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE VALUES ($1, 'low', 1, 'sold')`,
          [id],
        );
        expect((await app.get(`/v1/pets/${id}`)).text).toContain(`"id":${id},`);
      }
      await app.database.query('DELETE FROM pets WHERE id < 1');
    });

    it.each([
      '2',
      '0',
      '-1',
      '-0',
      '01',
      '+1',
      '1.0',
      '1e0',
      '0x1',
      '%201',
      '1%20',
      '1%00',
      'abc',
      'null',
      '%F0%9F%90%B6',
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775808',
      '-9223372036854775809',
      '1,1',
      '1%2F2',
      '..%2f1',
      '9'.repeat(2_000),
      "1'--",
      '[object%20Object]',
    ])('404 pet_not_found for petId %.40s', async (petId) => {
      expectError(await app.get(`/v1/pets/${petId}`), 404, 'pet_not_found');
    });

    it('404 route_not_found for /v1/pets/', async () => {
      expectError(await app.get('/v1/pets/'), 404, 'route_not_found');
      expectError(await app.get('/v1/pets/1/'), 404, 'route_not_found');
    });

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
      expect(deprecation(await app.get('/v1/pets/'))).toEqual(nothing);
    });
  });

  describe('GET /v1/pets (listPets)', () => {
    beforeAll(() => fillPets(app, 11, ['available', 'pending', 'sold']));

    it('200 returns each animal with exactly its four fields', async () => {
      const { json } = await app.get('/v1/pets');
      expect(json[1]).toEqual({ id: 2, name: 'animal 1', categoryId: 1, status: 'pending' });
    });

    it('200 does not mix concurrent requests for other statuses, limits and cursors', async () => {
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

    pagingContract('/pets', PET_STATUSES, () => app, noPets);

    it('keeps ids above 2^53 exact, over pages', async () => {
      await moveSequence(app, 'pets', 9007199254740993n);
      await fillPets(app, 5, ['pending']);
      const cursor = Buffer.from('9007199254740992@/pets?').toString('base64url');
      const first = await app.get(`/v1/pets?limit=2&cursor=${cursor}`);
      expect(first.text.match(/"id":\d+/g)).toEqual(['"id":9007199254740993', '"id":9007199254740994']);
      const second = await app.get(linksOf(first)['next']!);
      expect(second.text.match(/"id":\d+/g)).toEqual(['"id":9007199254740995', '"id":9007199254740996']);
    });
  });

  it('builds Link and Location from PUBLIC_BASE_URL, never from the Host header', async () => {
    const other = await startApp({ publicBaseUrl: 'https://api.example.com/v1' }, { beside: app });
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
    storedIds: async () => {
      const rows = await database.query<{ id: string }>('SELECT id FROM pets ORDER BY id');
      return rows.map(({ id }) => Number(id));
    },
  };
}
