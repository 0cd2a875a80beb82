import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { fillPets } from '../support/factories';
import type { HttpResponse } from '../support/http';

describe('GET /v1/pets/{petId} (getPet, deprecated)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await fillPets(app, 1);
  });
  afterAll(() => app.close());

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
