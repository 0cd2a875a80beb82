import { Client } from 'pg';
import { IdempotencyService } from '../../src/platform/idempotency/idempotency.service';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { expectReplay, keyedPost, newKey } from './support/keyed';

const FAILS_AT_INSERT = 'CHECK (false) NOT VALID';
const FAILS_AT_COMMIT = 'FOREIGN KEY (id) REFERENCES nothing DEFERRABLE INITIALLY DEFERRED NOT VALID';

describe('an Idempotency-Key', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ databasePoolWaitMs: 30_000 });
    await app.database.query('CREATE TABLE nothing (id bigint PRIMARY KEY)');
  });
  afterAll(() => app.close());

  const post = (path: string, idempotencyKey: string, body: string | object, key?: string) =>
    keyedPost(app, path, idempotencyKey, body, key);
  const addPet = (idempotencyKey: string, name: string, key?: string) =>
    post('/v1/pets', idempotencyKey, aNewPet({ name }), key);
  const countOf = async (name: string) =>
    Number(
      (await app.database.query<{ n: string }>('SELECT count(*) AS n FROM pets WHERE name = $1', [name]))[0]!
        .n,
    );
  const everything = () =>
    app.database.query(
      `SELECT 'animal', id::text, status FROM pets UNION ALL
       SELECT 'order', id::text, status FROM store_orders UNION ALL
       SELECT 'key', id::text, status::text FROM idempotency_keys ORDER BY 1, 2`,
    );
  const withConstraint = async (table: string, constraint: string, ask: () => Promise<HttpResponse>) => {
    await app.database.query(`ALTER TABLE ${table} ADD CONSTRAINT failing ${constraint}`);
    try {
      return await ask();
    } finally {
      await app.database.query(`ALTER TABLE ${table} DROP CONSTRAINT failing`);
    }
  };
  const countKeys = async () =>
    Number((await app.database.query<{ n: string }>('SELECT count(*) AS n FROM idempotency_keys'))[0]!.n);

  it.each([
    [
      'POST /v1/pets',
      '/v1/pets',
      async () => '{ "name": "é \\u00e9 ☃ <>&", "categoryId": 9007199254740993 }',
    ],
    [
      'POST /v1/store/orders',
      '/v1/store/orders',
      async () => `{"petId":${(await app.post('/v1/pets', aNewPet())).json.id}}`,
    ],
  ])(
    'on %s does the work once; a replay is the same response byte for byte, with its Location',
    async (...row) => {
      const [, path, bodyOf] = row;
      const body = await bodyOf();
      const key = newKey();
      const first = await post(path, key, body);
      expect(first.status).toBe(201);
      expect(first.headers['location']).toMatch(/\/\d+$/);
      for (let time = 0; time < 3; time += 1) expectReplay(await post(path, key, body), first);
      expect((await app.get(first.headers['location']!)).text).toBe(first.text);
    },
  );

  it('does not change the response: body and type are those of a request without one', async () => {
    const plain = await app.post('/v1/pets', aNewPet({ name: 'alike' }));
    const keyed = await addPet(newKey(), 'alike');
    expect(keyed.text.replace(/"id":\d+/, '')).toBe(plain.text.replace(/"id":\d+/, ''));
    expect(keyed.headers['content-type']).toBe(plain.headers['content-type']);
  });

  it('422 for another body, even if only a space differs; the stored response stays', async () => {
    const key = newKey();
    const first = await post('/v1/pets', key, '{"name":"one","categoryId":1}');
    for (const body of ['{"name":"two","categoryId":1}', '{"name":"one","categoryId":1} ']) {
      expectError(await post('/v1/pets', key, body), 422, 'idempotency_key_reused');
    }
    expectReplay(await post('/v1/pets', key, '{"name":"one","categoryId":1}'), first);
  });

  it('400 for an invalid body, even if the key was used with another body', async () => {
    const key = newKey();
    await addPet(key, 'one');
    for (const body of ['{}', '', '{"name":1}']) {
      expectError(await post('/v1/pets', key, body), 400, 'validation_failed');
    }
  });

  it('is the same for every spelling of the URL', async () => {
    const key = newKey();
    const first = await addPet(key, 'spelt');
    for (const path of ['/v1/%70ets', '/v1/pets?x=1', '/v1/pets#a', `${app.url}/v1/pets`]) {
      expectReplay(await post(path, key, aNewPet({ name: 'spelt' })), first);
    }
  });

  it('20 concurrent requests do the work once: one gets 201, the others the same 201 or 409 with Retry-After', async () => {
    for (let round = 0; round < 2; round += 1) {
      const name = `concurrent ${round}`;
      const key = newKey();
      const responses = await Promise.all(Array.from({ length: 20 }, () => addPet(key, name)));
      const created = responses.filter(({ status }) => status === 201);
      expect(new Set(created.map(({ text }) => text)).size).toBe(1);
      expect(created.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
      for (const response of responses.filter(({ status }) => status !== 201)) {
        expectError(response, 409, 'idempotency_key_in_use');
        expect(response.headers['retry-after']).toBe('1');
      }
      expect(await countOf(name)).toBe(1);
    }
  });

  it('409 while the first request is running, then the stored response', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const key = newKey();
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    const first = post('/v1/store/orders', key, { petId });
    await until(async () => (await lockWaits(app.database)).length > 0);
    const early = await post('/v1/store/orders', key, { petId });
    expectError(early, 409, 'idempotency_key_in_use');
    expect(early.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '1000' });
    await app.database.query('COMMIT');
    expect((await first).status).toBe(201);
    expectReplay(await post('/v1/store/orders', key, { petId }), await first);
  });

  it('is independent of an equal key of another account or on another path', async () => {
    const { key: stranger } = await app.createKey();
    const key = newKey();
    const mine = await addPet(key, 'mine');
    const theirs = await addPet(key, 'theirs', stranger);
    expect(theirs).toMatchObject({ status: 201, json: { name: 'theirs' } });
    const order = await post('/v1/store/orders', key, { petId: mine.json.id });
    expect(order.status).toBe(201);
    expect(order.headers['idempotent-replayed']).toBeUndefined();
  });

  it('belongs to the account: another API key of the account gets the same response', async () => {
    const one = await app.createKey({ account: 'two keys' });
    const other = await app.createKey({ account: 'two keys' });
    const key = newKey();
    const first = await addPet(key, 'shared', one.key);
    expectReplay(await addPet(key, 'shared', other.key), first);
  });

  it('can be used again after 400, 404 and 409, which are not stored', async () => {
    const before = await countKeys();
    const key = newKey();
    expectError(await post('/v1/pets', key, '{"name":""}'), 400, 'validation_failed');
    expectError(await post('/v1/pets', key, '{'), 400, 'malformed_json');
    expectError(await post('/v1/store/orders', key, '{"petId":-1}'), 404, 'pet_not_found');
    const { id: petId } = (await app.post('/v1/pets', aNewPet({ status: 'sold' }))).json;
    expectError(await post('/v1/store/orders', key, { petId }), 409, 'pet_not_available');
    expect(await countKeys()).toBe(before);
    const created = await addPet(key, 'at last');
    expect(created).toMatchObject({ status: 201, json: { name: 'at last' } });
    expect((await post('/v1/store/orders', key, { petId: created.json.id })).status).toBe(201);
  });

  it('a handler that returns 404 without throwing stores no response', async () => {
    const service = app.nest.get(IdempotencyService, { strict: false });
    const request = { accountId: 1n, method: 'POST', path: '/v1/more', key: newKey(), body: undefined };
    const reject = async () => ({ status: 404, location: null, body: '{}' });
    await service.runOnce(request, reject);
    expect(await service.runOnce(request, reject)).toMatchObject({ status: 404, isReplay: false });
  });

  it.each([
    ['the response of an order cannot be stored', '/v1/store/orders', 'idempotency_keys', FAILS_AT_INSERT],
    ['the response of an animal cannot be stored', '/v1/pets', 'idempotency_keys', FAILS_AT_INSERT],
    ['an order cannot be committed', '/v1/store/orders', 'store_orders', FAILS_AT_COMMIT],
    ['an animal cannot be committed', '/v1/pets', 'pets', FAILS_AT_COMMIT],
  ])('rolls back work and response if %s, and can be used again', async (...row) => {
    const [, path, table, constraint] = row;
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const { id: otherId } = (await app.post('/v1/pets', aNewPet())).json;
    const { id } = (await app.post(path, { ...aNewPet(), petId: otherId })).json;
    const before = await everything();
    const key = newKey();
    const body = { ...aNewPet(), petId };
    const failed = await withConstraint(table, constraint, () => post(path, key, body));
    expectError(failed, 500, 'internal_error');
    expect(failed.headers['location']).toBeUndefined();
    expect(await everything()).toEqual(before);
    const first = await post(path, key, body);
    // The failed work did run: it used the id between the two.
    expect(first).toMatchObject({ status: 201, json: { id: id + 2 } });
    expectReplay(await post(path, key, body), first);
  });

  it('is kept for 24 h, then ignored and deleted', async () => {
    const key = newKey();
    const first = await addPet(key, 'kept');
    app.clock.advance({ seconds: 86_399 });
    expectReplay(await addPet(key, 'kept'), first);
    await app.nest.get(IdempotencyService, { strict: false }).purge();
    expectReplay(await addPet(key, 'kept'), first);
    app.clock.advance({ seconds: 1 });
    const anew = await addPet(key, 'kept again');
    expect(anew.status).toBe(201);
    expect(anew.json.id).not.toBe(first.json.id);
    expectReplay(await addPet(key, 'kept again'), anew);
    await app.nest.get(IdempotencyService, { strict: false }).purge();
    expect(await countKeys()).toBe(1);
  });

  it('is optional: without one an animal is created with one query, without a transaction, a lock or a lookup of keys', async () => {
    await app.post('/v1/pets', aNewPet());
    const query = jest.spyOn(Client.prototype, 'query');
    await app.post('/v1/pets', aNewPet());
    const asked = query.mock.calls.map(([what]: any[]) => String(what.name ?? what.text ?? what));
    query.mockRestore();
    // Background tasks may query the rate limit and the API keys meanwhile.
    expect(asked.filter((text) => !/rate_limit|api_key/.test(text))).toEqual([
      expect.stringMatching(/pets_insert|INSERT INTO pets/),
    ]);
  });
});
