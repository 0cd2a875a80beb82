import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { PET_STATUSES } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { fillPets, moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { until } from '../support/until';

describe('GET /v1/pets (listPets)', () => {
  pagingContract('/pets', PET_STATUSES, noPets);

  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await fillPets(app, 12, ['available', 'pending', 'sold']);
  });
  afterAll(() => app.close());

  it('200 returns each animal with exactly its four fields', async () => {
    const { json } = await app.get('/v1/pets');
    expect(json[0]).toEqual({ id: 1, name: 'animal 1', categoryId: 1, status: 'pending' });
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

describe('GET /v1/pets under a public base URL', () => {
  it('builds Link and Location from PUBLIC_BASE_URL, never from the Host header', async () => {
    const app = await startApp({ publicBaseUrl: 'https://api.example.com/v1' });
    await fillPets(app, 2);
    const list = await app.get('/v1/pets?limit=1', { headers: { host: 'evil.example' } });
    expect(linksOf(list)['next']).toMatch(/^https:\/\/api\.example\.com\/v1\/pets\?limit=1&cursor=/);
    const created = await app.post(
      '/v1/pets',
      { name: 'Rex', categoryId: 1 },
      { headers: { host: 'evil.example' } },
    );
    expect(created.headers['location']).toBe('https://api.example.com/v1/pets/3');
    await app.close();
  });
});

/** Empties the table of animals. */
async function noPets(app: TestApp): Promise<PagedList> {
  await app.database.query('DELETE FROM pets');
  return {
    key: app.key,
    fill: (count, statuses) => fillPets(app, count, statuses),
    storedIds: async () => {
      const rows = await app.database.query<{ id: string }>('SELECT id FROM pets ORDER BY id');
      return rows.map(({ id }) => Number(id));
    },
  };
}
