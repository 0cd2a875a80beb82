import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { LabModule } from '../modules/support/lab.module';
import { aNewPet } from '../support/factories';
import { sendRaw } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { expectReplay, keyedPost } from './support/keyed';

/** Stores so many responses whose 24 h are over. */
const FILL = `
  INSERT INTO idempotency_keys (id, created_at, body_hash, status, answer)
  SELECT sha256(n::text::bytea), '2020-01-01Z', sha256(''), 201, '{}' FROM generate_series(1, $1::integer) AS n`;

describe('an Idempotency-Key', () => {
  let app: TestApp;
  beforeAll(async () => {
    holdTimers();
    app = await startApp({}, { modules: [LabModule] });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
  });

  const addPet = (key: string, name: string) => keyedPost(app, '/v1/pets', key, aNewPet({ name }));
  const countOf = async (name: string) =>
    (await app.database.query('SELECT FROM pets WHERE name = $1', [name])).length;
  const countKeys = async () => (await app.database.query('SELECT FROM idempotency_keys')).length;

  it.each([
    ['a', '"a"'],
    ['with"quote', '"with\\"quote"'],
    ['back\\slash', '"back\\\\slash"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['550e8400-e29b-41d4-a716-446655440000', '"550e8400-e29b-41d4-a716-446655440000"'],
  ])('%s is the same key bare and quoted', async (bare, quoted) => {
    const first = await addPet(bare, 'quoted');
    expectReplay(await addPet(quoted, 'quoted'), first);
  });

  it.each([
    ['an empty one', ''],
    ['an empty quoted one', '""'],
    ['256 characters', 'x'.repeat(256)],
    ['a space inside', 'a b'],
    ['a quoted space', '"a b"'],
    ['no closing quote', '"a'],
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

  it('is another key if a letter has the other case', async () => {
    await addPet('case', 'case');
    const other = await addPet('Case', 'case');
    expect([other.status, other.headers['idempotent-replayed']]).toEqual([201, undefined]);
    expect(await countOf('case')).toBe(2);
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
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const { id } = (await app.post('/v1/store/orders', { petId })).json;
    const update = await app.send('PATCH', `/v1/store/orders/${id}`, {
      headers,
      body: { status: 'approved' },
    });
    expect(update.status).toBe(200);
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
