import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { idsOf, linksOf } from '../support/links';

describe('reading animals', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
    await fillPets(app, 12, ['available', 'pending', 'sold']);
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

    it.each(['4711', '9223372036854775808', '01', '1.0', '1%00', '..%2f1', '9'.repeat(2_000)])(
      '404 pet_not_found for petId %.40s',
      async (petId) => {
        expectError(await app.get(`/v1/pets/${petId}`), 404, 'pet_not_found');
      },
    );

    it('sends the deprecation headers with 200, HEAD, 401, 403 and 404; its successor returns the same animal', async () => {
      const { key: writeOnly } = await app.createKey({ scopes: ['pets:write'] });
      const found = await app.get('/v1/pets/1');
      for (const response of [
        found,
        await app.send('HEAD', '/v1/pets/1'),
        await app.get('/v1/pets/1', { key: undefined }),
        await app.get('/v1/pets/1', { key: writeOnly }),
      ])
        expect(deprecation(response)).toEqual(announced('/v1/pets?id=1'));
      expect((await app.get('/v1/pets?id=1')).text).toBe(`[${found.text}]`);
      for (const [id, successor] of Object.entries({
        '4711': '/v1/pets?id=4711',
        '-7': '/v1/pets?id=-7',
        abc: '/v1/pets',
        '01': '/v1/pets',
        '9223372036854775808': '/v1/pets',
        '%3E': '/v1/pets',
      }))
        expect(deprecation(await app.get(`/v1/pets/${id}`))).toEqual(announced(successor));
      expect(deprecation(await app.get('/v1/pets/abc', { key: undefined }))).toEqual(announced('/v1/pets'));
    });

    it('sends no deprecation headers with the 405 of another method, nor for other operations', async () => {
      const wrongMethod = await app.send('POST', '/v1/pets/1');
      expectError(wrongMethod, 405, 'method_not_allowed');
      for (const response of [wrongMethod, await app.get('/v1/pets')])
        expect(deprecation(response)).toEqual([undefined, undefined, undefined]);
    });
  });

  describe('concurrent clients', () => {
    // A read takes 20 ms, so that other requests arrive between its snapshot and its response.
    beforeAll(() =>
      app.database.query(`
        ALTER TABLE pets RENAME TO animals;
        CREATE VIEW pets AS SELECT * FROM animals WHERE (SELECT pg_sleep(0.02)::text) IS NOT NULL`),
    );
    afterAll(() => app.database.query('DROP VIEW pets; ALTER TABLE animals RENAME TO pets'));

    it('get the pages of their own statuses, limits and cursors', async () => {
      const filters = [
        '',
        '&status=available',
        '&status=pending',
        '&status=sold',
        '&sort=-id',
        '&categoryId=7',
      ];
      const addresses = filters.map((filter) => `/v1/pets?limit=3${filter}`);
      const { next } = linksOf(await app.get(addresses[0]!, { key }));
      addresses.push('/v1/pets?limit=4', next!);
      const expected: number[][] = [];
      for (const address of addresses) expected.push(idsOf(await app.get(address, { key })));
      expect(new Set(expected.map(String)).size).toBe(addresses.length);
      // Twice, so that each address also waits for the query after the running one.
      const asked = [...addresses, ...addresses].map((address) => app.get(address, { key }));
      expect((await Promise.all(asked)).map(idsOf)).toEqual([...expected, ...expected]);
    });

    it('get their own animals, also one that others get, and 404 for those that do not exist', async () => {
      const ids = Array.from({ length: 150 }, (_, at) => at % 15);
      const responses = await Promise.all(ids.map((id) => app.get(`/v1/pets/${id}`, { key })));
      const expected = ids.map((id) => (id >= 1 && id <= 12 ? id : 'pet_not_found'));
      expect(responses.map(({ json }) => json.id ?? json.code)).toEqual(expected);
    });

    it('find an animal that was added before the request, also while an earlier request for the page runs', async () => {
      const page = '/v1/pets?sort=-id';
      for (let time = 0; time < 5; time += 1) {
        const early = app.get(page, { key });
        const { text, headers } = await app.post('/v1/pets', aNewPet(), { key });
        for (const path of [page, headers['location']!])
          expect((await app.get(path, { key })).text).toContain(text);
        await early;
      }
    });
  });

  it('builds Link and Location from PUBLIC_BASE_URL, never from the Host header', async () => {
    const other = await startApp({ publicBaseUrl: 'https://api.example.com/v1' }, { beside: app });
    const options = { headers: { host: 'evil.example' } };
    const list = await other.get('/v1/pets?limit=1', options);
    expect(linksOf(list)['next']).toMatch(/^https:\/\/api\.example\.com\/v1\/pets\?limit=1&cursor=/);
    const { json, headers } = await other.post('/v1/pets', aNewPet(), options);
    expect(headers['location']).toBe(`https://api.example.com/v1/pets/${json.id}`);
    await other.close();
  });
});
