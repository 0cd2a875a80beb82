import { IdempotencyRepository } from '../../src/platform/idempotency/idempotency.repository';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

/** Stores so many responses whose 24 h are over. */
const FILL = `
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, $1::integer) AS n`;

/** Expects the first response again, byte for byte, with `Idempotent-Replayed: true`. */
function expectReplay(again: HttpResponse, first: HttpResponse): void {
  expect(again).toMatchObject({ status: first.status, text: first.text });
  for (const name of ['location', 'etag', 'content-type', 'content-length']) {
    expect({ name, value: again.headers[name] }).toEqual({ name, value: first.headers[name] });
  }
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(first.headers['idempotent-replayed']).toBeUndefined();
}

describe('an Idempotency-Key', () => {
  let app: TestApp;
  beforeAll(async () => {
    holdTimers();
    const database = await createPatientDatabase();
    app = await startApp({ databasePoolWaitMs: 30_000 }, { modules: [LabModule], database });
    await app.database.query('CREATE TABLE nothing (id bigint PRIMARY KEY)');
  });
  beforeEach(() => app.database.query('DELETE FROM idempotency_keys'));
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  let keys = 0;
  const newKey = () => `key-${(keys += 1)}`;
  const post = (path: string, idempotencyKey: string, body: string | object, key = app.key) =>
    app.post(path, body, { key, headers: { 'idempotency-key': idempotencyKey } });
  const addPet = (idempotencyKey: string, name: string, key?: string) =>
    post('/v1/pets', idempotencyKey, aNewPet({ name }), key);
  const countOf = async (name: string) =>
    (await app.database.query('SELECT FROM pets WHERE name = $1', [name])).length;
  const countKeys = async () => (await app.database.query('SELECT FROM idempotency_keys')).length;

  it('does the work once; a replay is the same response byte for byte, with its Location', async () => {
    const body = '{ "name": "é \\u00e9 ☃ <>&", "categoryId": 9007199254740993 }';
    const key = newKey();
    const first = await post('/v1/pets', key, body);
    expect(first.status).toBe(201);
    expect(first.headers['location']).toMatch(/\/\d+$/);
    for (let time = 0; time < 3; time += 1) expectReplay(await post('/v1/pets', key, body), first);
    expect((await app.get(first.headers['location']!)).text).toBe(first.text);
  });

  it('422 for another body, even if only a space differs; the stored response stays', async () => {
    const key = newKey();
    const first = await post('/v1/pets', key, '{"name":"one","categoryId":1}');
    for (const body of ['{"name":"two","categoryId":1}', '{"name":"one","categoryId":1} ']) {
      expectError(await post('/v1/pets', key, body), 422, 'idempotency_key_reused');
    }
    expectReplay(await post('/v1/pets', key, '{"name":"one","categoryId":1}'), first);
  });

  it('20 concurrent requests do the work once: one gets 201, the others the same 201 or 409 with Retry-After', async () => {
    const key = newKey();
    const responses = await Promise.all(Array.from({ length: 20 }, () => addPet(key, 'concurrent')));
    const created = responses.filter(({ status }) => status === 201);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    const [first, ...others] = created.filter(({ headers }) => !headers['idempotent-replayed']);
    expect(others).toEqual([]);
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expectError(response, 409, 'idempotency_key_in_use');
      expect(response.headers['retry-after']).toBe('1');
    }
    expect(await countOf('concurrent')).toBe(1);
    const replays = await Promise.all(Array.from({ length: 20 }, () => addPet(key, 'concurrent')));
    for (const replay of replays) expectReplay(replay, first!);
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

  it('belongs to the account, for all its API keys, and to the path; upper case makes another key', async () => {
    const account = 'two keys';
    const [one, other] = [await app.createKey({ account }), await app.createKey({ account })];
    const { key: stranger } = await app.createKey();
    const key = newKey();
    const mine = await addPet(key, 'mine', one.key);
    expectReplay(await addPet(key, 'mine', other.key), mine);
    const others = [
      await addPet(key.toUpperCase(), 'mine', one.key),
      await addPet(key, 'theirs', stranger),
      await post('/v1/store/orders', key, { petId: mine.json.id }, one.key),
    ];
    for (const { status, headers } of others)
      expect([status, headers['idempotent-replayed']]).toEqual([201, undefined]);
    expect(await countOf('mine')).toBe(2);
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

  it('can be used again after 500: the order and its response are rolled back', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.database.query(
      `ALTER TABLE store_orders ADD CONSTRAINT failing
       FOREIGN KEY (id) REFERENCES nothing DEFERRABLE INITIALLY DEFERRED NOT VALID`,
    );
    const key = newKey();
    const failed = await post('/v1/store/orders', key, { petId });
    await app.database.query('ALTER TABLE store_orders DROP CONSTRAINT failing');
    expectError(failed, 500, 'internal_error');
    expect(failed.headers['location']).toBeUndefined();
    expect((await app.get(`/v1/pets/${petId}`)).json.status).toBe('available');
    const first = await post('/v1/store/orders', key, { petId });
    expect(first.status).toBe(201);
    expectReplay(await post('/v1/store/orders', key, { petId }), first);
  });

  it('is kept for 24 h, then deleted', async () => {
    const key = newKey();
    const first = await addPet(key, 'kept');
    const age = (seconds: number) => {
      const time = new Date(app.clock.now() - seconds * 1_000);
      return app.database.query('UPDATE idempotency_keys SET created_at = $1', [time]);
    };
    await age(86_399);
    await app.nest.get(IdempotencyRepository, { strict: false }).run();
    expectReplay(await addPet(key, 'kept'), first);
    await age(86_400);
    // The age counts for the deletion only.
    expectReplay(await addPet(key, 'kept'), first);
    await app.nest.get(IdempotencyRepository, { strict: false }).run();
    expect(await countKeys()).toBe(0);
    const anew = await addPet(key, 'kept again');
    expect(anew.status).toBe(201);
    expect(anew.json.id).not.toBe(first.json.id);
    expectReplay(await addPet(key, 'kept again'), anew);
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

  it("on a module's route depends on the path parameters; a replay has the handler's status", async () => {
    const note = (name: string) => post(`/v1/lab/notes/${name}`, 'note', '');
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

  it('that is older than 24 h is deleted; a stop waits for the batch that is under way, without a warning', async () => {
    await app.database.query(FILL, [2_001]);
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE idempotency_keys');
    pass({ seconds: 60 });
    await until(async () => (await lockWaits(app.database)).length > 0);
    const restarted = app.restart();
    await until(() => !app.nest.getHttpServer().listening);
    await app.database.query('COMMIT');
    await restarted;
    expect(await countKeys()).toBe(1_001);
    expect(app.log.join('')).not.toContain('The deletion of old idempotency keys fails');
  });
});
