import { PetsService } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, hasPreparedStatements } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet, moveSequence } from '../support/factories';

const COUNT = 250;

async function transactionsOf(app: TestApp): Promise<number> {
  const [row] = await app.database.query<{ count: string }>('SELECT count(DISTINCT xmin::text) FROM pets');
  return Number(row!.count);
}

describe('creating animals', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createDatabase();
    // Pipelining is off behind a pooler without prepared statements.
    const url = hasPreparedStatements() ? database.url : database.directUrl;
    const settings = { databasePreparedStatements: true };
    app = await startApp(settings, { database: { ...database, url } });
  });
  beforeEach(() => app.database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => app.close());

  describe('POST /v1/pets (createPet)', () => {
    it('201 returns the animal with an id and the status available by default; Location is its URL', async () => {
      const created = await app.post('/v1/pets', aNewPet({ name: 'Mimi' }));
      expect(created.status).toBe(201);
      const { id } = created.json;
      expect(created.json).toEqual({ id, name: 'Mimi', categoryId: 3, status: 'available' });
      expect(created.headers['location']).toBe(`/v1/pets/${id}`);
      expect((await app.get(created.headers['location']!)).text).toBe(created.text);
    });

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

    it('201 keeps the name exactly as sent', async () => {
      for (const name of [' Rex ', 'Zoë', 'e\u0301', '<b>"\\/', '\u2028\u2029\uFEFF!', '🐶'.repeat(255)]) {
        const created = await app.post('/v1/pets', aNewPet({ name }));
        expect({ name, status: created.status }).toEqual({ name, status: 201 });
        expect(created.json.name).toBe(name);
        expect((await app.get(created.headers['location']!)).json.name).toBe(name);
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
    it('share statements of at most 100 and their commits, exact in every character; in each the ids ascend in the order of arrival', async () => {
      const names = Array.from({ length: COUNT }, (_, at) => `"${at}" \\ {NULL}, 'é🐈`);
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

    it('have results of their own if the database rejects some of them', async () => {
      await app.database.query(`
      CREATE FUNCTION reject_bad() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.name = 'bad' THEN RAISE 'no' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER reject_bad BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION reject_bad()`);
      const names = ['a', 'b', 'bad', 'c', 'bad', 'd'];
      const responses = await Promise.all(names.map((name) => app.post('/v1/pets', aNewPet({ name }))));
      await app.database.query('DROP FUNCTION reject_bad CASCADE');
      expect(responses.map(({ status }) => status)).toEqual([201, 201, 500, 201, 500, 201]);
      expectError(responses[2]!, 500, 'internal_error');
      const created = responses.filter(({ status }) => status === 201).map(({ json }) => json.name);
      expect(created).toEqual(names.filter((name) => name !== 'bad'));
      expect(await app.database.query('SELECT FROM pets')).toHaveLength(created.length);
    });

    it('are transactions of their own with an Idempotency-Key, or without DATABASE_PIPELINING', async () => {
      const headers = (at: number) => ({ headers: { 'idempotency-key': `joined-${at}` } });
      await Promise.all(Array.from({ length: 8 }, (_, at) => app.post('/v1/pets', aNewPet(), headers(at))));
      expect(await transactionsOf(app)).toBe(8);
      const other = await startApp({ databasePipelining: false }, { beside: app });
      await app.database.truncate('pets CASCADE');
      await Promise.all(Array.from({ length: 8 }, () => other.post('/v1/pets', aNewPet())));
      expect(await transactionsOf(app)).toBe(8);
      await other.close();
    });
  });

  it('each of 20 concurrent clients finds the animal that it has just created, on the page and at its address', async () => {
    const key = await app.unlimitedKey();
    // A read takes 20 ms, so that other clients write between its snapshot and its response.
    await app.database.query(`
        ALTER TABLE pets RENAME TO animals;
        CREATE VIEW pets AS SELECT * FROM animals WHERE (SELECT pg_sleep(0.02)::text) IS NOT NULL`);
    const missed: string[] = [];
    const create = async () => {
      const { status, text, headers } = await app.post('/v1/pets', aNewPet(), { key });
      expect(status).toBe(201);
      for (const path of ['/v1/pets?limit=100', headers.location!]) {
        const read = await app.get(path, { key });
        if (!read.text.includes(text)) missed.push(`${path}: ${text}`);
      }
    };
    try {
      await Promise.all(Array.from({ length: 20 }, create));
    } finally {
      await app.database.query('DROP VIEW pets; ALTER TABLE animals RENAME TO pets');
    }
    expect(missed).toEqual([]);
  });
});
