import { IdempotentWork } from '../../src/platform/idempotency';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { type HttpResponse, sendRaw } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { expectReplay, keyedPost, newKey } from './support/keyed';

const FAILS_AT_INSERT = 'CHECK (false) NOT VALID';
const FAILS_AT_COMMIT = 'FOREIGN KEY (id) REFERENCES nothing DEFERRABLE INITIALLY DEFERRED NOT VALID';

/** Stores so many responses whose 24 h are over. */
const FILL = `
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, $1::integer) AS n`;

describe('an Idempotency-Key', () => {
  let app: TestApp;
  beforeAll(async () => {
    holdTimers();
    app = await startApp({ databasePoolWaitMs: 30_000 }, { modules: [LabModule] });
    await app.database.query('CREATE TABLE nothing (id bigint PRIMARY KEY)');
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  const post = (path: string, idempotencyKey: string, body: string | object, key?: string) =>
    keyedPost(app, path, idempotencyKey, body, key);
  const addPet = (idempotencyKey: string, name: string, key?: string) =>
    post('/v1/pets', idempotencyKey, aNewPet({ name }), key);
  const countOf = async (name: string) =>
    (await app.database.query('SELECT FROM pets WHERE name = $1', [name])).length;
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
  const countKeys = async () => (await app.database.query('SELECT FROM idempotency_keys')).length;

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
    async (_route, path, bodyOf) => {
      const body = await bodyOf();
      const key = newKey();
      const first = await post(path, key, body);
      expect(first.status).toBe(201);
      expect(first.headers['location']).toMatch(/\/\d+$/);
      for (let time = 0; time < 3; time += 1) expectReplay(await post(path, key, body), first);
      expect((await app.get(first.headers['location']!)).json).toMatchObject(first.json);
    },
  );

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
    const key = newKey();
    const responses = await Promise.all(Array.from({ length: 20 }, () => addPet(key, 'concurrent')));
    const created = responses.filter(({ status }) => status === 201);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    expect(created.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expectError(response, 409, 'idempotency_key_in_use');
      expect(response.headers['retry-after']).toBe('1');
    }
    expect(await countOf('concurrent')).toBe(1);
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

  it('is independent of the same key in upper case, of another account or on another path', async () => {
    const { key: stranger } = await app.createKey();
    const key = newKey();
    const mine = await addPet(key, 'mine');
    const others = [
      await addPet(key.toUpperCase(), 'mine'),
      await addPet(key, 'theirs', stranger),
      await post('/v1/store/orders', key, { petId: mine.json.id }),
    ];
    for (const { status, headers } of others)
      expect([status, headers['idempotent-replayed']]).toEqual([201, undefined]);
    expect(await countOf('mine')).toBe(2);
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

  it.each([
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
    await app.nest.get(IdempotentWork, { strict: false }).purge();
    expectReplay(await addPet(key, 'kept'), first);
    app.clock.advance({ seconds: 1 });
    const anew = await addPet(key, 'kept again');
    expect(anew.status).toBe(201);
    expect(anew.json.id).not.toBe(first.json.id);
    expectReplay(await addPet(key, 'kept again'), anew);
    await app.nest.get(IdempotentWork, { strict: false }).purge();
    expect(await countKeys()).toBe(1);
  });

  it.each([
    ['a', '"a"'],
    ['with"quote', '"with\\"quote"'],
    ['back\\slash', '"back\\\\slash"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
  ])('%s is the same key bare and quoted', async (bare, quoted) => {
    const first = await addPet(bare, 'quoted');
    expectReplay(await addPet(quoted, 'quoted'), first);
  });

  it.each([
    ['an empty one', ''],
    ['256 characters', 'x'.repeat(256)],
    ['a space inside', 'a b'],
    ['more after the quote', '"a"b'],
    ['a control character', 'a\tb'],
    ['a character beyond ASCII', 'é'],
    ['a bad escape', '"a\\b"'],
  ])('400 validation_failed for %s, and nothing is done', async (_what, key) => {
    const before = await countKeys();
    expectError(await addPet(key, 'never'), 400, 'validation_failed');
    expect(await countOf('never')).toBe(0);
    expect(await countKeys()).toBe(before);
  });

  it('400 validation_failed if it is sent twice', async () => {
    const body = JSON.stringify(aNewPet({ name: 'twice' }));
    const response = await sendRaw(
      app.url,
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n${body}`,
    );
    expect(response).toMatch(/^HTTP\/1.1 400 /);
    expect(await countOf('twice')).toBe(0);
  });

  it("on a module's route depends on the path parameters; a replay has the handler's status", async () => {
    const note = (name: string) => keyedPost(app, `/v1/lab/notes/${name}`, 'note', '');
    const first = await note('one');
    expect(first).toMatchObject({ status: 202, text: '{"name":"one"}' });
    expectReplay(await note('one'), first);
    expect(await note('two')).toMatchObject({ status: 202, text: '{"name":"two"}' });
  });

  it('is ignored by GET and PATCH', async () => {
    const headers = { 'idempotency-key': '' };
    expect((await app.get('/v1/pets', { headers })).status).toBe(200);
    const path = (await app.post('/v1/pets', aNewPet())).headers['location']!;
    expect((await app.send('PATCH', path, { headers, body: { name: 'Max' } })).status).toBe(200);
  });

  describe('that is older than 24 h is deleted, and', () => {
    beforeEach(() => app.database.query('DELETE FROM idempotency_keys'));

    it('is kept if a request renews it meanwhile', async () => {
      await app.database.query(FILL, [2]);
      await app.database.query('BEGIN');
      await app.database.query(
        `UPDATE idempotency_keys SET created_at = '2030-01-01Z' WHERE id = sha256('1')`,
      );
      pass({ seconds: 60 });
      const kept = "SELECT FROM idempotency_keys WHERE id = sha256('2')";
      await until(async () => (await app.database.query(kept)).length === 0);
      await app.database.query('COMMIT');
      expect(await countKeys()).toBe(1);
    });

    it('a stop waits for the batch that is under way, without a warning', async () => {
      await app.database.query(FILL, [2_001]);
      await app.database.query('BEGIN');
      await app.database.query('LOCK TABLE idempotency_keys');
      pass({ seconds: 60 });
      await until(async () => (await lockWaits(app.database)).length > 0);
      const closed = app.nest.close();
      await until(() => !app.nest.getHttpServer().listening);
      await app.database.query('COMMIT');
      await closed;
      expect(await countKeys()).toBe(1_001);
      expect(app.log.join('')).not.toContain('cannot be deleted');
    });
  });
});
