import { PET_STATUSES } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { untilWaiting } from '../support/lock-waits';
import { holdMeasuredTime, pass } from '../support/timers';

describe('the counts of animals', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets CASCADE'));
  afterAll(() => app.close());

  it('are of each status, in total and by category over several pages, after each kind of change', async () => {
    const pets = PET_STATUSES.map((status, at) => aNewPet({ categoryId: at % 2, status }));
    const { json } = await app.post('/v1/pets/batch', { items: [...pets, ...pets] }, { key });
    await app.post('/v1/pets', aNewPet({ categoryId: -7 }), { key });
    await app.send('PATCH', `/v1/pets/${json[0].id}`, { key, body: { status: 'sold', categoryId: 3 } });
    await app.send('DELETE', `/v1/pets/${json[1].id}`, { key });
    const categories = [
      { categoryId: -7, available: 1, pending: 0, sold: 0 },
      { categoryId: 0, available: 1, pending: 0, sold: 2 },
      { categoryId: 1, available: 0, pending: 1, sold: 0 },
      { categoryId: 3, available: 0, pending: 0, sold: 1 },
    ];
    const get = (path: string) => app.get(path, { key });
    expect((await get('/v1/store/inventory')).json).toEqual({ available: 2, pending: 1, sold: 3 });
    const first = await get('/v1/categories?limit=3');
    const second = await get(linksOf(first)['next']!);
    expect([...first.json, ...second.json]).toEqual(categories);
    expect(linksOf(second)['next']).toBeUndefined();
    expect((await get('/v1/store/inventory?categoryId=3&categoryId=1')).json).toEqual(categories.slice(2));
  });

  it('have an item for each category of the request, once and ascending, of at most 100', async () => {
    expect(
      (await app.get('/v1/store/inventory?categoryId=7&categoryId=3&categoryId=7', { key })).json,
    ).toEqual([3, 7].map((categoryId) => ({ available: 0, pending: 0, sold: 0, categoryId })));
    const many = Array.from({ length: 101 }, (_, at) => `categoryId=${at}`).join('&');
    expectError(await app.get(`/v1/store/inventory?${many}`, { key }), 400, 'validation_failed');
  });

  it('are counted one query at a time; 503 for one that waited longer than DATABASE_POOL_WAIT_MS', async () => {
    const busy = await startApp({ databasePoolWaitMs: 30_000 }, { beside: app });
    const inventory = (filter = '') => busy.get(`/v1/store/inventory${filter}`, { key });
    // The key is known, so that the counts are the only queries.
    await inventory();
    holdMeasuredTime();
    await app.database.query('BEGIN; LOCK TABLE pets');
    const counts = ['', '?categoryId=1', '?categoryId=2'].map(inventory);
    await untilWaiting(app.database);
    // All have arrived before this request.
    await busy.get('/v1/key', { key });
    pass({ seconds: 31 });
    await app.database.query('COMMIT');
    const statuses = (await Promise.all(counts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(2);
    expect(statuses).toContain(200);
    expect((await inventory('?categoryId=2')).status).toBe(200);
    jest.useRealTimers();
    await busy.close();
  });
});
