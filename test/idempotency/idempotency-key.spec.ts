import { once } from 'node:events';
import * as fc from 'fast-check';
import { LabModule } from '../modules/support/lab.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

/** With one of three keys: a body, the same with a space at its end, or one that is invalid. */
interface Request {
  readonly key: number;
  readonly body: 'one' | 'space' | 'invalid';
}

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

  it('does the work once, for any requests with three keys and two bodies, some concurrent, until 24 h are over', async () => {
    const request: fc.Arbitrary<Request> = fc.record({
      key: fc.nat(2),
      body: fc.constantFrom('one', 'space', 'invalid'),
    });
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.array(request, { minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom('almost a day', 'a day', 'deleted') },
    );
    let runs = 0;
    const isNew = ({ response: { status, headers } }: { response: HttpResponse }) =>
      status === 201 && headers['idempotent-replayed'] === undefined;
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const name = `é \u00e9 ☃ <>& ${(runs += 1)}`;
      const json = JSON.stringify({ name, categoryId: 1 }).replace(':1}', ':9007199254740993}');
      const bodies = { one: json, space: `${json} `, invalid: '{"name":""}' };
      /** The first body and response of each key. */
      const known = new Map<number, { body: string; first: HttpResponse }>();
      let created = 0;
      for (const each of steps) {
        if (typeof each === 'string') {
          await age(each === 'almost a day' ? 86_399 : 86_400);
          // The age counts for the deletion only.
          if (each !== 'a day') await app.runDueWork();
          if (each === 'deleted') known.clear();
          continue;
        }
        const send = async ({ key, body }: Request) => post('/v1/pets', `${runs}-${key}`, bodies[body]);
        const sent = await Promise.all(each.map(async (of) => ({ ...of, response: await send(of) })));
        for (const { key, body, response } of sent.filter(isNew)) {
          created += 1;
          expect(known.get(key)).toBeUndefined();
          known.set(key, { body, first: response });
        }
        for (const { key, body, response } of sent) {
          const possible = body === 'invalid' ? ['validation_failed'] : ['idempotency_key_in_use'];
          const isFirstBody = known.get(key)?.body === body;
          if (body !== 'invalid') possible.push(isFirstBody ? 'success' : 'idempotency_key_reused');
          // Only concurrent requests with a key can be told to wait.
          const isAlone = each.filter((other) => other.key === key).length === 1;
          const outcome = response.status === 201 ? 'success' : response.json.code;
          expect(isAlone ? possible.slice(-1) : possible).toContain(outcome);
        }
        const hasKey = ({ key, body }: Request) => body === 'invalid' || known.has(key);
        expect(each.filter((of) => !hasKey(of))).toEqual([]);
        const replays = sent.filter((of) => of.response.status === 201 && !isNew(of));
        for (const { key, response } of replays) expectReplay(response, known.get(key)!.first);
      }
      expect(await countOf(name)).toBe(created);
      for (const { first } of known.values())
        expect((await app.get(first.headers['location']!)).text).toBe(first.text);
    });
    const ask = (body: Request['body']): Request => ({ key: 0, body });
    const examples: [(string | Request[])[]][] = [
      // Requests in turn, and 20 concurrent ones.
      [[[ask('one')], [ask('one')], [ask('space')], [ask('one')]]],
      [[Array.from({ length: 20 }, () => ask('one')), [ask('one')]]],
      // A failure is not stored.
      [[[ask('invalid')], [ask('space')], [ask('invalid')], [ask('space')]]],
      // A response is kept for 24 h.
      [
        [
          [ask('one')],
          'almost a day',
          [ask('one')],
          'a day',
          [ask('one')],
          'deleted',
          [ask('space')],
          [ask('space')],
        ],
      ],
    ];
    await fc.assert(property, { numRuns: 12, examples });
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
    expect(await note('two')).toMatchObject({ status: 202, text: '{"name":"two"}' });
  });

  it.each([
    [299, 'true'],
    [300, undefined],
    [404, undefined],
  ])('stores the status %i of a handler only if it is a success', async (status, replayed) => {
    const note = () => post(`/v1/lab/notes/${status}`, `status-${status}`, '');
    expect((await note()).headers['idempotent-replayed']).toBeUndefined();
    const again = await note();
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([status, replayed]);
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
