import { entityTagOf } from '../../src/platform/http/entity-tag';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets } from '../support/factories';

const PATHS = ['/v1/pets', '/v1/pets?limit=1', '/v1/pets/1', '/v1/store/orders', '/v1/store/orders/1'];

describe('entity tags', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({ corsOrigins: ['https://shop.example'] });
    key = await app.unlimitedKey();
    await fillPets(app, 3);
    await app.post('/v1/store/orders', { petId: 1 }, { key });
  });
  afterAll(() => app.close());

  const get = (path: string, headers = {}, method = 'GET') => app.send(method, path, { key, headers });
  const tagOf = async (path: string) => String((await get(path)).headers['etag']);

  it.each(PATHS)(
    'a 200 of GET %s has a strong one, the hash of its bytes, and may be stored if revalidated',
    async (path) => {
      const response = await get(path);
      expect(response.headers['etag']).toBe(entityTagOf(response.text));
      expect(response.headers['etag']).toMatch(/^"[\w-]{43}"$/);
      expect(response.headers['cache-control']).toBe('private, no-cache');
      const head = await get(path, {}, 'HEAD');
      expect(head.headers['etag']).toBe(response.headers['etag']);
      expect(head.headers['content-length']).toBe(response.headers['content-length']);
    },
  );

  it.each(PATHS)('304 without a body for GET and HEAD of %s, with the headers of the 200', async (path) => {
    const { headers: full } = await get(path);
    const tag = String(full['etag']);
    for (const condition of [tag, `W/${tag}`, `"a", ${tag} , "b"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await get(path, { 'if-none-match': condition }, method);
        expect(response).toMatchObject({ status: 304, text: '' });
        const { headers } = response;
        for (const name of ['etag', 'link', 'cache-control', 'deprecation', 'sunset', 'x-ratelimit-limit'])
          expect({ name, value: headers[name] }).toEqual({ name, value: full[name] });
      }
    }
  });

  it.each(['"other"', '', 'nonsense', 'W/"a", "b"'])(
    '200 if If-None-Match does not name it (%s)',
    async (condition) => {
      for (const path of PATHS) {
        const response = await get(path, { 'if-none-match': condition });
        expect(response.status).toBe(200);
        expect(response.text).not.toBe('');
      }
    },
  );

  it('a 304 counts in the windows like a 200', async () => {
    const { key: own } = await app.createKey();
    const first = await app.get('/v1/pets', { key: own });
    const headers = { 'if-none-match': String(first.headers['etag']) };
    const second = await app.get('/v1/pets', { key: own, headers });
    expect(second.status).toBe(304);
    const remaining = (response: typeof first) => Number(response.headers['x-ratelimit-remaining']);
    expect(remaining(second)).toBe(remaining(first) - 1);
  });

  it('one names the new state after each change', async () => {
    const created = await app.post('/v1/pets', aNewPet(), { key });
    expect(created.headers['cache-control']).toBe('no-store');
    const path = String(created.headers['location']);
    const before = await tagOf(path);
    expect(before).toBe(created.headers['etag']);
    const page = await tagOf('/v1/pets?limit=100');
    const changed = await app.send('PATCH', path, { key: app.key, body: { name: 'other' } });
    expect(changed.headers['etag']).toBe(await tagOf(path));
    expect(changed.headers['etag']).not.toBe(before);
    expect(await get('/v1/pets?limit=100', { 'if-none-match': page })).toMatchObject({ status: 200 });
  });

  it('errors have none, and no-store', async () => {
    for (const response of [
      await get('/v1/pets/4711', { 'if-none-match': '*' }),
      await app.get('/v1/pets', { key: undefined, headers: { 'if-none-match': '*' } }),
      await get('/v1/pets?limit=0', { 'if-none-match': '*' }),
    ]) {
      expect(response.status).toBeGreaterThan(399);
      expect(response.headers['etag']).toBeUndefined();
      expect(response.headers['cache-control']).toBe('no-store');
    }
  });

  it('a replayed creation has the one of the first response', async () => {
    const headers = { 'idempotency-key': 'tagged' };
    const first = await app.post('/v1/pets', aNewPet(), { key, headers });
    const again = await app.post('/v1/pets', aNewPet(), { key, headers });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.headers['etag']).toBe(first.headers['etag']);
  });

  it('scripts of an allowed origin can read it', async () => {
    const { headers } = await get('/v1/pets', { origin: 'https://shop.example' });
    expect(String(headers['access-control-expose-headers']).toLowerCase()).toContain('etag');
  });

  describe('of an order', () => {
    const order = async () => {
      const { id: petId } = (await app.post('/v1/pets', aNewPet(), { key })).json;
      return String((await app.post('/v1/store/orders', { petId }, { key })).headers['location']);
    };
    const update = (path: string, status: string, tag: string) =>
      app.send('PATCH', path, { key, body: { status }, headers: { 'if-match': tag } });

    it('200 for If-Match with the current one, for staff and for a buyer; 412 for an earlier one', async () => {
      const path = await order();
      const placed = await tagOf(path);
      expect((await update(path, 'approved', placed)).status).toBe(200);
      expectError(await update(path, 'delivered', placed), 412, 'precondition_failed');
      expectError(await update(path, 'approved', placed), 412, 'precondition_failed');
      expect((await update(path, 'delivered', await tagOf(path))).status).toBe(200);
    });

    it('of 10 writers with the same one exactly one changes the order', async () => {
      const path = await order();
      const tag = await tagOf(path);
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, at) => update(path, at % 2 === 0 ? 'approved' : 'cancelled', tag)),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(responses.filter(({ status }) => status === 412)).toHaveLength(9);
    });
  });
});
