import { Module } from '@nestjs/common';
import { PetHooks, PetsModule } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, hasPreparedStatements } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';

const BATCH = '/v1/pets/batch';
/** The most items of a batch, and the most creations that share a statement. */
const MANY = 100;

const told: string[] = [];

@Module({ imports: [PetsModule] })
class WatchingModule {
  constructor(hooks: PetHooks) {
    hooks.onChanged(({ pet, previous }) => {
      if (pet.name === 'bad') throw new Error('no');
      told.push(`${pet.id} ${previous?.name ?? 'new'}`);
    });
  }
}

describe('creating animals', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    const database = await createDatabase();
    // Pipelining is off behind a pooler without prepared statements.
    const url = hasPreparedStatements() ? database.url : database.directUrl;
    const settings = { databasePreparedStatements: true };
    app = await startApp(settings, { database: { ...database, url } });
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => app.close());

  const countPets = async () => (await app.database.query('SELECT FROM pets')).length;
  const countTransactions = async () => {
    const [row] = await app.database.query('SELECT count(DISTINCT xmin::text)::int FROM pets');
    return row!['count'] as number;
  };
  const items = (count: number) =>
    Array.from({ length: count }, (_, at) => aNewPet({ name: `"${at}" \\ {NULL}, 'é🐈`, categoryId: at }));

  describe('POST /v1/pets (createPet)', () => {
    it('201 returns the animal with an id and the status available by default; Location is its URL', async () => {
      const created = await app.post('/v1/pets', aNewPet({ name: 'Mimi' }));
      expect(created.status).toBe(201);
      const { id } = created.json;
      expect(created.json).toEqual({ id, name: 'Mimi', categoryId: 3, status: 'available' });
      expect(created.headers['location']).toBe(`/v1/pets/${id}`);
      expect((await app.get(created.headers['location']!)).text).toBe(created.text);
    });

    it('201 keeps the name exactly as sent', async () => {
      for (const name of [' Rex ', 'Zoë', 'e\u0301', '<b>"\\/', '\u2028\u2029\uFEFF!', '🐶'.repeat(255)]) {
        const created = await app.post('/v1/pets', aNewPet({ name }));
        expect([name, created.status, created.json.name]).toEqual([name, 201, name]);
        expect((await app.get(created.headers['location']!)).json.name).toBe(name);
      }
    });

    it('ignores unknown fields, id and members of prototypes', async () => {
      const created = await app.post(
        '/v1/pets',
        '{"id":77,"name":"Rex","categoryId":3,"toString":1,"constructor":{"prototype":1},"__proto__":{"status":"sold"},"deep":{"a":[1.5]}}',
      );
      expect(created.json).toEqual({ id: 1, name: 'Rex', categoryId: 3, status: 'available' });
    });
  });

  describe('creations at the same time', () => {
    afterEach(() => app.database.query('DROP FUNCTION hinder CASCADE'));

    /** Runs PL/pgSQL before each insertion, once for a statement or for a row. */
    const hinder = (each: 'STATEMENT' | 'ROW', work: string) =>
      app.database.query(`
        CREATE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${work}; RETURN NEW; END $$;
        CREATE TRIGGER hinder BEFORE INSERT ON pets FOR EACH ${each} EXECUTE FUNCTION hinder()`);

    it('share statements of at most 100 and their commits, exact in every character', async () => {
      await hinder('STATEMENT', 'PERFORM pg_sleep(0.1)');
      const sent = items(150);
      const responses = await Promise.all(sent.map((item) => app.post('/v1/pets', item, { key })));
      for (const [at, { json }] of responses.entries())
        expect(json).toEqual({ ...sent[at], id: json.id, status: 'available' });
      expect(await countTransactions()).toBeLessThan(75);
      const [largest] = await app.database.query(
        'SELECT count(*)::int FROM pets GROUP BY xmin::text ORDER BY 1 DESC LIMIT 1',
      );
      expect(largest!['count']).toBeLessThanOrEqual(MANY);
    });

    it('have results of their own if the database rejects some of them', async () => {
      await hinder('ROW', "IF NEW.name = 'bad' THEN RAISE 'no' USING ERRCODE = '23514'; END IF");
      const names = ['a', 'b', 'bad', 'c', 'bad', 'd'];
      const responses = await Promise.all(names.map((name) => app.post('/v1/pets', aNewPet({ name }))));
      expect(responses.map(({ status }) => status)).toEqual([201, 201, 500, 201, 500, 201]);
      expectError(responses[2]!, 500, 'internal_error');
      const created = responses.filter(({ status }) => status === 201).map(({ json }) => json.name);
      expect(created).toEqual(names.filter((name) => name !== 'bad'));
      expect(await countPets()).toBe(created.length);
    });

    it('are transactions of their own with an Idempotency-Key, or without DATABASE_PIPELINING', async () => {
      await hinder('STATEMENT', 'PERFORM pg_sleep(0.02)');
      const other = await startApp({ databasePipelining: false }, { beside: app });
      await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          await app.post('/v1/pets', aNewPet(), { headers: { 'idempotency-key': `joined-${at}` } });
          await other.post('/v1/pets', aNewPet(), { key });
        }),
      );
      expect(await countTransactions()).toBe(16);
      await other.close();
    });
  });

  describe('POST /v1/pets/batch (createPets)', () => {
    it('201 returns 100 animals in the order of the items, with ascending ids, from one transaction and one request', async () => {
      const { key: limited } = await app.createKey();
      const sent = items(MANY).toReversed();
      const { status, json, headers } = await app.post(BATCH, { items: sent }, { key: limited });
      expect(status).toBe(201);
      expect(json).toEqual(sent.map((item, at) => ({ id: at + 1, ...item, status: 'available' })));
      expect((await app.get('/v1/pets?limit=100')).json).toEqual(json);
      expect(await countTransactions()).toBe(1);
      expect(Number(headers['x-ratelimit-limit']) - Number(headers['x-ratelimit-remaining'])).toBe(1);
    });

    it('tells listeners of each animal in its order, inside the transaction: an error of one keeps all from being created', async () => {
      told.splice(0);
      const other = await startApp({}, { beside: app, modules: [WatchingModule] });
      const { json } = await other.post(BATCH, { items: items(3) }, { key });
      expect(told).toEqual(json.map(({ id }: { id: number }) => `${id} new`));
      const bad = { items: [...items(3), aNewPet({ name: 'bad' })] };
      expectError(await other.post(BATCH, bad, { key }), 500, 'internal_error');
      expect(await countPets()).toBe(3);
      await other.close();
    });
  });
});
