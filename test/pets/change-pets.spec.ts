import { DEFAULT_SCOPES } from '../../src/app/store';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';

const ORDERS = '/v1/store/orders';

describe('PATCH and DELETE /v1/pets/{petId} (updatePet, deletePet)', () => {
  let app: TestApp;
  let buyer: string;
  beforeAll(async () => {
    app = await startApp();
    buyer = (await app.createKey({ scopes: DEFAULT_SCOPES })).key;
  });
  afterAll(() => app.close());

  const patch = (id: number, body: unknown, headers = {}) =>
    app.send('PATCH', `/v1/pets/${id}`, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers,
    });
  const remove = (id: number, headers = {}) => app.send('DELETE', `/v1/pets/${id}`, { headers });
  const get = (id: number) => app.get(`/v1/pets/${id}`);
  const newPet = async (members = {}): Promise<number> =>
    (await app.post('/v1/pets', aNewPet({ name: 'Rex', categoryId: 3, ...members }))).json.id;
  const order = async (petId: number): Promise<number> =>
    (await app.post(ORDERS, { petId }, { key: buyer })).json.id;
  const move = (orderId: number, status: string) =>
    app.send('PATCH', `${ORDERS}/${orderId}`, { body: { status } });

  it.each([
    ['{"name":"Mimi"}', '"name":"Mimi","categoryId":3,"status":"sold"'],
    ['{"status":"available"}', '"name":"Rex","categoryId":3,"status":"available"'],
    ['{"categoryId":9223372036854775807}', '"name":"Rex","categoryId":9223372036854775807,"status":"sold"'],
    ['{"name":"A","id":99,"color":"red"}', '"name":"A","categoryId":3,"status":"sold"'],
  ])('200 changes only the given members, and keeps an int64 exact: %s', async (change, expected) => {
    const id = await newPet({ status: 'sold' });
    const response = await patch(id, change);
    expect(response).toMatchObject({ status: 200, text: `{"id":${id},${expected}}` });
    expect((await get(id)).text).toBe(response.text);
  });

  it('204 without a body removes an animal; then it is 404 and in no list', async () => {
    const id = await newPet();
    const response = await remove(id);
    expect(response).toMatchObject({ status: 204, text: '' });
    expectError(await get(id), 404, 'pet_not_found');
    expectError(await remove(id), 404, 'pet_not_found');
    expectError(await patch(id, { name: 'A' }), 404, 'pet_not_found');
    expect((await app.get(`/v1/pets?id=${id}`)).text).toBe('[]');
    expectError(await app.post(ORDERS, { petId: id }), 404, 'pet_not_found');
  });

  it.each(['placed', 'approved'])(
    '409 pet_has_open_order for a new status and for removal while its order is %s; a new name is 200',
    async (status) => {
      const id = await newPet();
      const orderId = await order(id);
      if (status === 'approved') await move(orderId, status);
      for (const other of ['available', 'sold'])
        expectError(await patch(id, { name: 'A', status: other }), 409, 'pet_has_open_order');
      expectError(await remove(id), 409, 'pet_has_open_order');
      expect((await get(id)).json).toEqual({ id, name: 'Rex', categoryId: 3, status: 'pending' });
      expect((await patch(id, { name: 'B', status: 'pending' })).json.name).toBe('B');
    },
  );

  it('a removed animal keeps its earlier orders', async () => {
    const id = await newPet();
    const orderId = await order(id);
    for (const next of ['approved', 'delivered']) await move(orderId, next);
    const before = await app.get(`${ORDERS}/${orderId}`, { key: buyer });
    expect((await remove(id)).status).toBe(204);
    const after = await app.get(`${ORDERS}/${orderId}`, { key: buyer });
    expect(after).toMatchObject({ text: before.text, json: { petId: id, status: 'delivered' } });
  });

  // <tag> is the current entity tag.
  it.each([
    ['"other", <tag>', 200],
    [', W/"a,b" ,, "c d",<tag> ', 200],
    ['*', 200],
    ['"other"', 412],
    ['', 412],
    ['W/<tag>', 412],
    ['*, "a"', 412],
  ])('with If-Match: %s PATCH and DELETE are %i, and a rejection changes nothing', async (value, status) => {
    const id = await newPet();
    const before = await get(id);
    const headersFor = (tag = '') => ({ 'if-match': value.replace('<tag>', tag) });
    const changed = await patch(id, { name: 'A' }, headersFor(before.headers['etag']));
    const after = await get(id);
    const removed = await remove(id, headersFor(after.headers['etag']));
    const json = status === 200 ? { name: 'A' } : { code: 'precondition_failed' };
    expect(changed).toMatchObject({ status, json });
    expect(removed.status).toBe(status === 200 ? 204 : status);
    expect(after.text).toBe(status === 200 ? changed.text : before.text);
  });

  it('200 with the same response for the repetition of a change with the tag from before it', async () => {
    const id = await newPet();
    const headers = { 'if-match': (await get(id)).headers['etag']! };
    const changed = await patch(id, { name: 'B' }, headers);
    expect(await patch(id, { name: 'B' }, headers)).toMatchObject({ status: 200, text: changed.text });
    expectError(await patch(id, { name: 'C' }, headers), 412, 'precondition_failed');
  });

  it('204 also for the repetition of a removal with the tag of the last change, which a proxy has compressed', async () => {
    const id = await newPet();
    const tag = (await patch(id, { name: 'B' })).headers['etag']!.replace(/"$/, '-gzip"');
    for (let time = 0; time < 2; time += 1) expect((await remove(id, { 'if-match': tag })).status).toBe(204);
  });

  it('the order or the removal succeeds if both are sent concurrently for one animal', async () => {
    const key = await app.unlimitedKey();
    for (let round = 0; round < 4; round += 1) {
      const petId = (await app.post('/v1/pets', aNewPet(), { key })).json.id;
      const [removed, ...ordered] = await Promise.all([
        app.send('DELETE', `/v1/pets/${petId}`, { key }),
        ...Array.from({ length: 5 }, () => app.post(ORDERS, { petId }, { key })),
      ]);
      const placed = ordered.filter(({ status }) => status === 201);
      expect([removed.status, placed.length]).toEqual(removed.status === 204 ? [204, 0] : [409, 1]);
    }
  });
});
