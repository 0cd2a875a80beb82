import { once } from 'node:events';
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
  const age = (seconds: number) => {
    const time = new Date(app.clock.now() - seconds * 1_000);
    return app.database.query('UPDATE idempotency_keys SET created_at = $1', [time]);
  };
  /** A lock of the spec holds up the service. */
  const untilBlocked = () => until(async () => (await lockWaits(app.database)).length > 0);
  const countKeys = async () => (await app.database.query('SELECT FROM idempotency_keys')).length;

  it('does the work of concurrent requests once: the others are replays, 409 or, with another body, 422', async () => {
    const key = newKey();
    const body = JSON.stringify(aNewPet({ name: 'once' }));
    const send = async (each: string) => ({ body: each, response: await post('/v1/pets', key, each) });
    const sent = await Promise.all(Array.from({ length: 10 }, () => [send(body), send(`${body} `)]).flat());
    const isNew = ({ response: { status, headers } }: (typeof sent)[number]) =>
      status === 201 && headers['idempotent-replayed'] === undefined;
    const [first, ...others] = sent.toSorted((one, other) => Number(isNew(other)) - Number(isNew(one)));
    expect(first!.response.status).toBe(201);
    const isSuccess = ({ response }: (typeof sent)[number]) => response.status === 201;
    for (const { response } of others.filter(isSuccess)) expectReplay(response, first!.response);
    for (const { body: own, response } of others.filter((each) => !isSuccess(each))) {
      const code = own === first!.body ? 'idempotency_key_in_use' : 'idempotency_key_reused';
      expect(['idempotency_key_in_use', code]).toContain(response.json.code);
    }
    expectReplay(await post('/v1/pets', key, first!.body), first!.response);
    expect(await countOf('once')).toBe(1);
  });

  it('has its first response for 24 h; a body with one more byte is 422, and an invalid body uses no key', async () => {
    const key = newKey();
    const name = 'é e\u0301 ☃ <>&';
    const body = `{"name":${JSON.stringify(name)},"categoryId":9007199254740993}`;
    const send = (text: string) => post('/v1/pets', key, text);
    expectError(await send('{"name":""}'), 400, 'validation_failed');
    const first = await send(body);
    await age(86_399);
    await app.runDueWork();
    expectReplay(await send(body), first);
    expectError(await send(`${body} `), 422, 'idempotency_key_reused');
    await age(86_400);
    // The age counts for the deletion only.
    expectReplay(await send(body), first);
    await app.runDueWork();
    expect((await send(`${body} `)).headers['idempotent-replayed']).toBeUndefined();
    expect(await countOf(name)).toBe(2);
  });

  it('409 while the first request is running, then the stored response', async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const key = newKey();
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM pets WHERE id = $1 FOR UPDATE', [petId]);
    const first = post('/v1/store/orders', key, { petId });
    await untilBlocked();
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

  it('can be used again after 404 and 409, which are not stored', async () => {
    const key = newKey();
    const before = await countKeys();
    expectError(await post('/v1/store/orders', key, '{"petId":-1}'), 404, 'pet_not_found');
    const { id: petId } = (await app.post('/v1/pets', aNewPet({ status: 'sold' }))).json;
    expectError(await post('/v1/store/orders', key, { petId }), 409, 'pet_not_available');
    expect(await countKeys()).toBe(before);
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    expect((await post('/v1/store/orders', key, { petId: id })).status).toBe(201);
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

  it.each([
    ['/v1/pets', aNewPet({ name: 'rolled back' })],
    ['/v1/pets/batch', { items: [aNewPet({ name: 'rolled back' })] }],
  ])('is stored in the transaction of the animals that POST %s creates', async (path, body) => {
    await app.database.query(
      `ALTER TABLE idempotency_keys ADD CONSTRAINT failing
       FOREIGN KEY (status) REFERENCES nothing DEFERRABLE INITIALLY DEFERRED NOT VALID`,
    );
    const failed = await post(path, newKey(), body);
    await app.database.query('ALTER TABLE idempotency_keys DROP CONSTRAINT failing');
    expectError(failed, 500, 'internal_error');
    expect(await countOf('rolled back')).toBe(0);
  });

  it('is the same bare and quoted', async () => {
    const long = 'x'.repeat(255);
    const forms = {
      a: '"a"',
      'with"quote': '"with\\"quote"',
      'back\\slash': '"back\\\\slash"',
      [long]: `"${long}"`,
    };
    for (const [bare, quoted] of Object.entries(forms)) {
      const first = await addPet(bare, 'quoted');
      expectReplay(await addPet(quoted, 'quoted'), first);
    }
  });

  it.each(['', 'x'.repeat(256), 'a b', '"a"b', 'a\tb', 'é', '"a\\b"'])(
    '%j is 400 validation_failed, and nothing is done',
    async (key) => {
      const before = await countKeys();
      expectError(await addPet(key, 'never'), 400, 'validation_failed');
      expect([await countOf('never'), await countKeys()]).toEqual([0, before]);
    },
  );

  it("on a module's route depends on the path parameters; a replay has the handler's status", async () => {
    const note = (name: string) => post(`/v1/lab/notes/${name}`, 'note', '');
    const first = await note('one');
    expect(first).toMatchObject({ status: 202, text: '{"name":"one"}' });
    expectReplay(await note('one'), first);
    const empty = await note('204');
    expectReplay(await note('204'), empty);
    expect(await note('two')).toMatchObject({ status: 202, text: '{"name":"two"}' });
  });

  it('stores no status of a handler that is not a success', async () => {
    for (let times = 0; times < 2; times += 1) {
      const { status, headers } = await post('/v1/lab/notes/300', 'status-300', '');
      expect([status, headers['idempotent-replayed']]).toEqual([300, undefined]);
    }
  });

  it('that is older than 24 h is deleted; a stop waits for the batch that is under way, without a warning', async () => {
    await app.database.query(FILL, [2_001]);
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE idempotency_keys');
    pass({ seconds: 60 });
    await untilBlocked();
    const closed = once(app.nest.getHttpServer(), 'close');
    const restarted = app.restart();
    await closed;
    await app.database.query('COMMIT');
    await restarted;
    expect(await countKeys()).toBe(1_001);
    expect(app.log.join('')).not.toContain('The deletion of old idempotency keys fails');
    // More than one batch.
    await app.runDueWork();
    expect(await countKeys()).toBe(0);
  });
});
