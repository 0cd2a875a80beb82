import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

describe('GET /v1/spare-parts/{sparePartId} (getSparePart)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await app.database.query(`INSERT INTO spare_parts (name) VALUES ('First')`);
  });
  afterAll(() => app.close());

  it('200 returns the spare part', async () => {
    const response = await app.get('/v1/spare-parts/1');
    expect([response.status, response.json]).toEqual([200, { id: 1, name: 'First' }]);
  });

  it.each(['2', '0', '-1', '01', '1.0', 'abc', '%00', '9223372036854775808'])(
    '404 spare_part_not_found for the id %s',
    async (id) => {
      expectError(await app.get(`/v1/spare-parts/${id}`), 404, 'spare_part_not_found');
    },
  );

  it('403 insufficient_scope without spare-parts:read', async () => {
    const { key } = await app.createKey({ scopes: ['spare-parts:write'] });
    expectError(await app.get('/v1/spare-parts/1', { key }), 403, 'insufficient_scope');
  });
});
