import { Agent } from 'node:http';
import { PetsService } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, hasPreparedStatements } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet, moveSequence } from '../support/factories';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { expectUnavailable } from '../failure/support/expect-unavailable';

const COUNT = 250;
/** The connections that creations use at a time. */
const RUNNING = 2;

async function transactionsOf(app: TestApp): Promise<number> {
  const [row] = await app.database.query<{ count: string }>('SELECT count(DISTINCT xmin::text) FROM pets');
  return Number(row!.count);
}

const EVERYTHING = '/v1/pets?limit=100';

const CREATORS = 20;
/** Each page holds the animals of all creators. */
const LIMITS = [100, 99, 98, 97, 21, 20];
const STATUSES = ['available', 'pending', 'sold'] as const;

describe('creating animals', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createDatabase();
    // Pipelining is off behind a pooler without prepared statements.
    const url = hasPreparedStatements() ? database.url : database.directUrl;
    app = await startApp({ databasePreparedStatements: true }, { database: { ...database, url } });
  });
  afterAll(() => app.close());

  describe('POST /v1/pets (createPet)', () => {
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
      '0.5',
      '4503599627370497.5',
      '"3"',
      'null',
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
    });

    it('ignores two equal members of an unknown name, also a fraction that a number would round to an integer', async () => {
      const fraction = '"x":1.00000000000000000000001';
      const body = `{"name":"Rex","categoryId":3,${fraction},${fraction}}`;
      expect((await app.post('/v1/pets', body)).status).toBe(201);
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

  describe('creations at the same time', () => {
    beforeEach(() => app.database.query('TRUNCATE pets RESTART IDENTITY CASCADE'));

    const namesById = async () =>
      (await app.database.query<{ name: string }>('SELECT name FROM pets ORDER BY id')).map(
        ({ name }) => name,
      );
    const createAll = (names: readonly string[]) =>
      Promise.all(names.map((name) => app.post('/v1/pets', aNewPet({ name }))));

    it('are responses of their own, exact in every character', async () => {
      const key = await app.unlimitedKey();
      const names = Array.from({ length: 30 }, (_, at) => `"${at}" \\ {NULL}, 'é🐈`);
      const responses = await Promise.all(
        names.map((name) => app.post('/v1/pets', aNewPet({ name }), { key })),
      );
      expect(responses.map(({ status, json }) => [status, json.name])).toEqual(
        names.map((name) => [201, name]),
      );
      expect(new Set(responses.map(({ json }) => json.id)).size).toBe(names.length);
    });

    it('share statements of at most 100 and their commits; in each the ids ascend in the order of arrival', async () => {
      const names = Array.from({ length: COUNT }, (_, at) => `animal ${at}`);
      const pets = app.nest.get(PetsService, { strict: false });
      const created = await Promise.all(
        names.map((name) => pets.create({ name, categoryId: -(2n ** 63n), status: 'sold' })),
      );
      expect(created.map(({ name }) => name)).toEqual(names);
      expect(created[0]).toMatchObject({ categoryId: -(2n ** 63n), status: 'sold' });
      expect(await transactionsOf(app)).toBe(3);
      for (const start of [0, 100, 200]) {
        const ids = created.slice(start, start + 100).map(({ id }) => id);
        expect(ids.every((id, at) => at === 0 || id > ids[at - 1]!)).toBe(true);
      }
    });

    it('have results of their own if the database rejects one of them', async () => {
      await app.database.query(`
      CREATE FUNCTION reject_bad() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.name = 'bad' THEN RAISE 'no' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER reject_bad BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION reject_bad()`);
      const names = ['a', 'b', 'bad', 'c', 'd', 'bad', 'e'];
      const responses = await createAll(names);
      await app.database.query('DROP FUNCTION reject_bad CASCADE');
      expect(responses.map(({ status }) => status)).toEqual([201, 201, 500, 201, 201, 500, 201]);
      expectError(responses[2]!, 500, 'internal_error');
      expect((await namesById()).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
    });

    it('are transactions of their own with an Idempotency-Key, or without DATABASE_PIPELINING', async () => {
      const headers = (at: number) => ({ headers: { 'idempotency-key': `joined-${at}` } });
      await Promise.all(Array.from({ length: 8 }, (_, at) => app.post('/v1/pets', aNewPet(), headers(at))));
      expect(await transactionsOf(app)).toBe(8);
      const other = await startApp({ databasePipelining: false }, { beside: app });
      await app.database.query('TRUNCATE pets CASCADE');
      await Promise.all(Array.from({ length: 8 }, () => other.post('/v1/pets', aNewPet())));
      expect(await transactionsOf(app)).toBe(8);
      await other.close();
    });

    it('that wait for a blocked table get 503 after DATABASE_POOL_WAIT_MS and do not take effect; those that were sent succeed', async () => {
      const hasty = await startApp(
        { databasePreparedStatements: true, databasePoolWaitMs: 200 },
        { beside: app },
      );
      await app.database.query('BEGIN');
      await app.database.query('LOCK TABLE pets IN SHARE MODE');
      const sent = [];
      let isDone = false;
      for (let at = 0; at < RUNNING; at += 1) {
        sent.push(hasty.post('/v1/pets', aNewPet({ name: 'sent' })).finally(() => (isDone = true)));
        await until(async () => (await lockWaits(app.database)).length > at);
      }
      const waiting = await Promise.all(
        Array.from({ length: 5 }, () => hasty.post('/v1/pets', aNewPet({ name: 'waiting' }))),
      );
      for (const response of waiting) expectUnavailable(response);
      expect(isDone).toBe(false);
      await app.database.query('COMMIT');
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([201, 201]);
      expect(await app.database.query('SELECT name FROM pets')).toEqual([{ name: 'sent' }, { name: 'sent' }]);
      await hasty.close();
    });
  });

  describe('GET /v1/pets under load', () => {
    let key: string;
    const agent = new Agent({ keepAlive: true, maxSockets: CREATORS });
    beforeAll(async () => {
      key = await app.unlimitedKey();
      await slowDown();
    });
    beforeEach(() => app.database.query('TRUNCATE animals CASCADE'));
    afterAll(() => agent.destroy());

    /** Makes a read take 20 ms, so that other clients write between its snapshot and its response, and a commit 1 ms. */
    async function slowDown() {
      await app.database.query(`
      ALTER TABLE pets RENAME TO animals;
      CREATE VIEW pets AS SELECT * FROM animals WHERE (SELECT pg_sleep(0.02)::text) IS NOT NULL;
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.001); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON animals DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait()`);
    }

    it.each([
      ['one page', () => EVERYTHING],
      ['pages of several lengths', (at: number) => `/v1/pets?limit=${LIMITS[at % LIMITS.length]}`],
      ['the page of its status', (at: number) => `${EVERYTHING}&status=${STATUSES[at % STATUSES.length]}`],
      ['its address', (_at: number, location: string) => location],
    ])('contains the animal that each of many clients has just created: %s', async (_pages, pathOf) => {
      const missed: string[] = [];
      const create = async (at: number): Promise<void> => {
        const body = aNewPet({ status: STATUSES[at % STATUSES.length]! });
        const { status, text, headers } = await app.post('/v1/pets', body, { key, agent });
        expect(status).toBe(201);
        const read = await app.get(pathOf(at, headers.location!), { key, agent });
        if (!read.text.includes(text)) missed.push(text);
      };
      await Promise.all(Array.from({ length: CREATORS }, (_, at) => create(at)));
      expect(missed).toEqual([]);
    });
  });
});
