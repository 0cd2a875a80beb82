import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { moveSequence } from '../support/factories';

describe('POST /v1/spare-parts (createSparePart)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('201 returns the spare part with an id; Location is its URL', async () => {
    const created = await app.post('/v1/spare-parts', { name: 'New' });
    expect(created.status).toBe(201);
    expect(created.json).toEqual({ id: created.json.id, name: 'New' });
    expect(created.headers['location']).toBe(`/v1/spare-parts/${created.json.id}`);
    expect((await app.get(created.headers['location']!)).text).toBe(created.text);
  });

  it('201 keeps ids above 2^53 exact', async () => {
    await moveSequence(app, 'spare_parts', 9007199254740993n);
    const created = await app.post('/v1/spare-parts', { name: 'Far' });
    expect(created.headers['location']).toBe('/v1/spare-parts/9007199254740993');
    expect(created.text).toContain('"id":9007199254740993,');
  });

  it.each(['""', '" "', '5', 'null', JSON.stringify('x'.repeat(256)), '"\\u0000"'])(
    '400 validation_failed for the name %.20s',
    async (name) => {
      const response = await app.post('/v1/spare-parts', `{"name":${name}}`);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain('name');
    },
  );

  it('409 spare_part_exists for the name of another, and adds nothing', async () => {
    await app.post('/v1/spare-parts', { name: 'Twice' });
    expectError(await app.post('/v1/spare-parts', { name: 'Twice' }), 409, 'spare_part_exists');
    expect(await app.database.query(`SELECT FROM spare_parts WHERE name = 'Twice'`)).toHaveLength(1);
  });

  it('201 for a repeated request with its Idempotency-Key, and adds one spare part', async () => {
    const once = () =>
      app.post('/v1/spare-parts', { name: 'Once' }, { headers: { 'idempotency-key': 'once' } });
    const first = await once();
    const second = await once();
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  it('403 insufficient_scope without spare-parts:write', async () => {
    const { key } = await app.createKey({ scopes: ['spare-parts:read'] });
    expectError(await app.post('/v1/spare-parts', { name: 'New' }, { key }), 403, 'insufficient_scope');
  });
});
