import { SharedRead } from '../../src/database/shared-read';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { fillPets, moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { until } from '../support/until';

describe('GET /v1/pets (listPets)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await fillPets(app, 105, ['available', 'pending', 'sold']);
  });
  afterAll(() => app.close());

  const ids = (json: { id: number }[]) => json.map(({ id }) => id);

  /** Follows `next` from an address to the end. */
  async function follow(address: string, onPage?: () => Promise<unknown>): Promise<number[]> {
    const seen: number[] = [];
    for (let next: string | undefined = address; next !== undefined;) {
      const answer = await app.get(next);
      expect(answer.status).toBe(200);
      seen.push(...ids(answer.json));
      await onPage?.();
      next = linksOf(answer)['next'];
    }
    return seen;
  }

  it('200 is a bare array of the first 20 animals by ascending id, each with exactly its four fields', async () => {
    const answer = await app.get('/v1/pets');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(ids(answer.json)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(answer.json[0]).toEqual({ id: 1, name: 'animal 1', categoryId: 1, status: 'pending' });
  });

  it.each([1, 9, 10, 99, 100])('200 holds at most limit=%i animals', async (limit) => {
    const answer = await app.get(`/v1/pets?limit=${limit}`);
    expect(answer.json).toHaveLength(limit);
  });

  it.each([
    '0',
    '101',
    '1000',
    '0x10',
    '1e1',
    '%201',
    '1%20',
    '01',
    '',
    '-1',
    '+1',
    '%2B1',
    '1.0',
    '1.5',
    'abc',
    'null',
    '9007199254740993',
    '%D9%A1',
    '1&limit=2',
    '1&limit=1',
  ])('400 validation_failed for limit=%s', async (limit) => {
    const answer = await app.get(`/v1/pets?limit=${limit}`);
    expectError(answer, 400, 'validation_failed');
    expect(answer.json.message).toContain('limit');
  });

  it.each(['available', 'pending', 'sold'])(
    '200 with status=%s holds those animals and no others',
    async (status) => {
      const answer = await app.get(`/v1/pets?limit=100&status=${status}`);
      expect(answer.json).toHaveLength(35);
      expect(new Set(answer.json.map((pet: { status: string }) => pet.status))).toEqual(new Set([status]));
    },
  );

  it.each(['', 'Available', 'available%20', 'lost', 'available&status=sold', 'sold&status=sold', 'null'])(
    '400 validation_failed for status=%s',
    async (status) => {
      const answer = await app.get(`/v1/pets?status=${status}`);
      expectError(answer, 400, 'validation_failed');
      expect(answer.json.message).toContain('status');
    },
  );

  it('200 is the same if lists of other statuses, limits and positions are asked for concurrently', async () => {
    const addresses = ['', '&status=available', '&status=pending', '&status=sold'].map(
      (filter) => `/v1/pets?limit=3${filter}`,
    );
    addresses.push('/v1/pets?limit=4', linksOf(await app.get(addresses[0]!))['next']!);
    const alone: number[][] = [];
    for (const address of addresses) alone.push(ids((await app.get(address)).json));
    const read = jest.spyOn(SharedRead.prototype, 'read');
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE pets');
    // Twice, so that each also waits for the query after the one that runs.
    const asked = [...addresses, ...addresses].map((address) => app.get(address));
    try {
      await until(() => read.mock.calls.length === asked.length);
    } finally {
      await app.database.query('COMMIT');
      read.mockRestore();
    }
    expect((await Promise.all(asked)).map(({ json }) => ids(json))).toEqual([...alone, ...alone]);
    expect(new Set(alone.map(String)).size).toBe(addresses.length);
  });

  it('ignores parameters that it does not know, whatever their name', async () => {
    const answer = await app.get(
      '/v1/pets?limit=2&page=7&__proto__=1&constructor=2&then=3&limit[]=9&%FF=%FF&=&filters=1',
    );
    expect(ids(answer.json)).toEqual([1, 2]);
  });

  it('leads through all pages by Link: next on all but the last, first on all but the first, limit and filter kept', async () => {
    const first = await app.get('/v1/pets?limit=30&status=sold');
    expect(linksOf(first)).toEqual({
      next: expect.stringMatching(/^\/v1\/pets\?limit=30&status=sold&cursor=[\w-]+$/),
    });
    const last = await app.get(linksOf(first)['next']!);
    expect(last.json).toHaveLength(5);
    expect(linksOf(last)).toEqual({ first: '/v1/pets?limit=30&status=sold' });
    expect((await app.get(linksOf(last)['first']!)).text).toBe(first.text);
  });

  it('has no next behind a page that ends with the last animal', async () => {
    const answer = await app.get('/v1/pets?limit=35&status=sold');
    expect(answer.json).toHaveLength(35);
    expect(linksOf(answer)).toEqual({});
  });

  it.each([
    ['made up', 'abc'],
    ['empty', ''],
    ['a number', '5'],
    ['not base64url', '%F0%9F%90%B6'],
    ['for an id beyond int64', Buffer.from('9223372036854775808@/pets?').toString('base64url')],
    ['for an id that is no plain decimal', Buffer.from('007@/pets?').toString('base64url')],
    ['for another list', Buffer.from('7@/store/orders?').toString('base64url')],
    ['padded', `${Buffer.from('7@/pets?').toString('base64')}==`],
  ])('400 invalid_cursor for one that is %s', async (_what, cursor) => {
    expectError(await app.get(`/v1/pets?cursor=${cursor}`), 400, 'invalid_cursor');
  });

  it('400 invalid_cursor for one that was made for another filter, or for none', async () => {
    const cursorOf = async (query: string) =>
      new URL(
        linksOf(await app.get(`/v1/pets?limit=5${query}`))['next']!,
        'http://localhost',
      ).searchParams.get('cursor');
    const unfiltered = await cursorOf('');
    const sold = await cursorOf('&status=sold');
    expectError(await app.get(`/v1/pets?status=sold&cursor=${unfiltered}`), 400, 'invalid_cursor');
    expectError(await app.get(`/v1/pets?cursor=${sold}`), 400, 'invalid_cursor');
    expectError(await app.get(`/v1/pets?status=available&cursor=${sold}`), 400, 'invalid_cursor');
    expect((await app.get(`/v1/pets?limit=7&cursor=${unfiltered}`)).status).toBe(200);
  });

  it('repeats and skips no animal over 1,000 while others are inserted and deleted', async () => {
    await fillPets(app, 900, ['available', 'sold']);
    const before = await app.database.query<{ id: string }>('SELECT id FROM pets ORDER BY id');
    const seen = await follow('/v1/pets?limit=17', () =>
      app.post('/v1/pets', { name: 'born meanwhile', categoryId: 1 }),
    );
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.slice(0, before.length)).toEqual(before.map(({ id }) => Number(id)));
  });

  it('pages exactly over ids above 2^53', async () => {
    await moveSequence(app, 'pets', 9007199254740993n);
    await fillPets(app, 5, ['pending']);
    const cursor = Buffer.from('9007199254740992@/pets?').toString('base64url');
    const first = await app.get(`/v1/pets?limit=2&cursor=${cursor}`);
    expect(first.text.match(/"id":\d+/g)).toEqual(['"id":9007199254740993', '"id":9007199254740994']);
    const second = await app.get(linksOf(first)['next']!);
    expect(second.text.match(/"id":\d+/g)).toEqual(['"id":9007199254740995', '"id":9007199254740996']);
  });

  it('HEAD answers as GET does, without a body', async () => {
    const answer = await app.send('HEAD', '/v1/pets?limit=1');
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(linksOf(answer)['next']).toBeDefined();
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
