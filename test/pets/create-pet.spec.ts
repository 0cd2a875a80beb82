import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, moveSequence } from '../support/factories';

describe('POST /v1/pets (createPet)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const countPets = async () =>
    (await app.database.query<{ count: string }>('SELECT count(*) FROM pets'))[0]!.count;

  it('201 returns the animal with an id and the status available by default; Location is its URL', async () => {
    const created = await app.post('/v1/pets', aNewPet({ name: 'Mimi' }));
    expect(created.status).toBe(201);
    const { id } = created.json;
    expect(created.json).toEqual({ id, name: 'Mimi', categoryId: 3, status: 'available' });
    expect(created.headers['location']).toBe(`/v1/pets/${id}`);
    expect((await app.get(created.headers['location']!)).text).toBe(created.text);
  });

  it.each(['pending', 'sold'])('201 with the status %s', async (status) => {
    expect((await app.post('/v1/pets', aNewPet({ status }))).json.status).toBe(status);
  });

  it.each(['9223372036854775807', '-9223372036854775808', '-9007199254740993', '0'])(
    '201 keeps categoryId %s exact',
    async (categoryId) => {
      const created = await app.post('/v1/pets', `{"name":"Rex","categoryId":${categoryId}}`);
      expect(created.status).toBe(201);
      expect(created.text).toContain(`"categoryId":${categoryId},`);
      expect((await app.get(created.headers['location']!)).text).toContain(`"categoryId":${categoryId},`);
    },
  );

  it.each([
    ['1.0', '1'],
    ['-0', '0'],
    ['0e999999999', '0'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['90071992547409930E-1', '9007199254740993'],
  ])('201 reads categoryId %s as the integer %s', async (sent, kept) => {
    const created = await app.post('/v1/pets', `{"name":"Rex","categoryId":${sent}}`);
    expect(created.status).toBe(201);
    expect(created.text).toContain(`"categoryId":${kept},`);
  });

  it.each([
    '9223372036854775808',
    '-9223372036854775809',
    '1e999999999',
    '0.5',
    '"3"',
    'null',
    '[1]',
    `0.${'0'.repeat(5000)}1`,
    `1${'0'.repeat(30_000)}.${'0'.repeat(30_000)}1`,
  ])('400 validation_failed for categoryId %.40s', async (categoryId) => {
    const response = await app.post('/v1/pets', `{"name":"Rex","categoryId":${categoryId}}`);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain('categoryId');
  });

  it('201 keeps the name exactly as sent', async () => {
    for (const name of [' Rex ', 'Zoë', 'e\u0301', '<b>"\\/', '\u2028\u2029\uFEFF!', '🐶'.repeat(255)]) {
      const created = await app.post('/v1/pets', aNewPet({ name }));
      expect({ name, status: created.status }).toEqual({ name, status: 201 });
      expect(created.json.name).toBe(name);
      expect((await app.get(created.headers['location']!)).json.name).toBe(name);
    }
  });

  // More rows are in test/edge/raw/text.rows.ts.
  it.each([
    ['empty', '""'],
    ['of no-break spaces', '"\\u00a0\\u3000\\ufeff"'],
    ['with a control character', '"a\\u001bb"'],
    ['with a C1 control character', '"a\\u0085b"'],
    ['of 256 emoji', JSON.stringify('🐶'.repeat(256))],
    ['null', 'null'],
    ['an object', '{"length":3}'],
    ['an object with then', '{"then":1}'],
  ])('400 validation_failed for a name %s', async (_what, name) => {
    const before = await countPets();
    const response = await app.post('/v1/pets', `{"name":${name},"categoryId":3}`);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain('name');
    expect(await countPets()).toBe(before);
  });

  it.each(['null', '""', '"Available"', '["sold"]'])(
    '400 validation_failed for the status %s',
    async (status) => {
      const response = await app.post('/v1/pets', `{"name":"Rex","categoryId":3,"status":${status}}`);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain('status');
    },
  );

  it('400 names each invalid field once', async () => {
    const { json } = await app.post('/v1/pets', { status: 'lost' });
    for (const field of ['name must', 'categoryId must', 'status must']) {
      expect(json.message.split(field)).toHaveLength(2);
    }
  });

  it('ignores unknown fields, id and members of prototypes', async () => {
    const created = await app.post(
      '/v1/pets',
      '{"id":77,"name":"Rex","categoryId":3,"toString":1,"constructor":{"prototype":1},"__proto__":{"status":"sold"},"deep":{"a":[1.5]}}',
    );
    expect(created.status).toBe(201);
    expect(created.json).toEqual({ id: created.json.id, name: 'Rex', categoryId: 3, status: 'available' });
    expect(created.json.id).not.toBe(77);
    expectError(
      await app.post('/v1/pets', '{"__proto__":{"name":"Rex","categoryId":3}}'),
      400,
      'validation_failed',
    );
  });

  it.each(['[{"name":"Rex","categoryId":3}]', '"x"', 'null'])(
    '400 validation_failed for the JSON body %s, because it must be an object',
    async (body) => expectError(await app.post('/v1/pets', body), 400, 'validation_failed'),
  );

  it('creates, lists and fetches ids above 2^53 exactly', async () => {
    await moveSequence(app, 'pets', 9007199254740993n);
    const created = await app.post('/v1/pets', aNewPet());
    expect(created.text).toContain('"id":9007199254740993,');
    expect(created.headers['location']).toBe('/v1/pets/9007199254740993');
    expect((await app.get('/v1/pets/9007199254740993')).text).toBe(created.text);
    expect((await app.get('/v1/pets?limit=100')).text).toContain('"id":9007199254740993,');
  });
});
