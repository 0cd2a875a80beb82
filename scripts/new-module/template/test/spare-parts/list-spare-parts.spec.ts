import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { linksOf } from '../support/links';
import { followPages, idsOf } from '../support/paging.contract';

describe('GET /v1/spare-parts (listSpareParts)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await app.database.query(`INSERT INTO spare_parts (name) SELECT i::text FROM generate_series(1, 5) AS i`);
  });
  afterAll(() => app.close());

  it('200 returns each spare part with exactly its fields', async () => {
    expect((await app.get('/v1/spare-parts')).json[0]).toEqual({ id: 1, name: '1' });
  });

  it('200 pages lead by Link through all spare parts, by ascending id', async () => {
    const page = await app.get('/v1/spare-parts?limit=2');
    expect(idsOf(page)).toEqual([1, 2]);
    expect(linksOf(page)).toEqual({
      next: expect.stringMatching(/^\/v1\/spare-parts\?limit=2&cursor=[\w-]+$/),
    });
    expect(await followPages(app, app.key, '/v1/spare-parts?limit=2')).toEqual([1, 2, 3, 4, 5]);
  });

  it.each(['0', '101', 'x'])('400 validation_failed for limit %s', async (limit) => {
    expectError(await app.get(`/v1/spare-parts?limit=${limit}`), 400, 'validation_failed');
  });

  it('400 invalid_cursor for the cursor of another list', async () => {
    const cursor = Buffer.from('1@/pets?').toString('base64url');
    expectError(await app.get(`/v1/spare-parts?cursor=${cursor}`), 400, 'invalid_cursor');
  });

  it('403 insufficient_scope without spare-parts:read', async () => {
    const { key } = await app.createKey({ scopes: ['spare-parts:write'] });
    expectError(await app.get('/v1/spare-parts', { key }), 403, 'insufficient_scope');
  });
});
