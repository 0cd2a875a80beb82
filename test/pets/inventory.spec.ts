import { writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { PET_STATUSES } from '../../src/pets';
import { migrate } from '../../src/platform/database/migrate';
import { backup, backupFolder, restore } from '../database/support/backups';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { connectAdmin, createDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { migrations, schemaConfig } from '../support/schema-config';
import { until } from '../support/until';

const COUNTS = PET_STATUSES.map(
  (status) => `count(*) FILTER (WHERE status = '${status}')::float8 AS ${status}`,
).join();
const FEATURE = migrations.find(({ name }) => name.startsWith('PetWordsAndCounts'))!;

/** A request that changes animals: POST, PATCH and DELETE of one, or a batch. */
const CHANGE = fc.record({
  kind: fc.constantFrom('create', 'create', 'batch', 'update', 'remove'),
  pet: fc.nat(),
  body: fc.record({ status: fc.constantFrom(...PET_STATUSES), categoryId: fc.nat(4) }),
});

describe('the counts of animals', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets CASCADE'));
  afterAll(() => app.close());

  const query = (text: string) => app.database.query(text);
  const fill = (count: number, category: string) =>
    query(
      `INSERT INTO pets (name, category_id, status) SELECT 'Rex', ${category}, 'sold' FROM generate_series(1, ${count}) n`,
    );

  /** Expects all three operations to return what the table has, the categories over several pages. */
  async function expectExact(at: TestApp = app) {
    const byCategory = await at.database.query(
      `SELECT category_id::float8 AS "categoryId", ${COUNTS} FROM pets GROUP BY category_id ORDER BY 1`,
    );
    const [total] = await at.database.query(`SELECT ${COUNTS} FROM pets`);
    const get = (path: string) => at.get(path, { key: at === app ? key : at.key });
    expect((await get('/v1/store/inventory')).json).toEqual(total);
    const found: unknown[] = [];
    for (let next: string | undefined = '/v1/categories?limit=77'; next !== undefined;) {
      const page = await get(next);
      found.push(...page.json);
      next = linksOf(page)['next'];
    }
    expect(found).toEqual(byCategory);
    const ids = byCategory.slice(0, 99).map(({ categoryId }) => `categoryId=${categoryId}`);
    const none = { categoryId: -5, available: 0, pending: 0, sold: 0 };
    expect(
      (await get(`/v1/store/inventory?${[...ids.toReversed(), 'categoryId=-5'].join('&')}`)).json,
    ).toEqual([none, ...byCategory.slice(0, 99)]);
  }

  it('are exact after each change of concurrent writers, whether or not they were added up', async () => {
    const ids: number[] = [];
    const change = async ({ kind, pet, body }: typeof CHANGE extends fc.Arbitrary<infer T> ? T : never) => {
      const path = `/v1/pets/${ids[pet % ids.length]}`;
      if (kind === 'batch')
        return app.post('/v1/pets/batch', { items: Array(5).fill(aNewPet(body)) }, { key });
      if (ids.length === 0 || kind === 'create')
        return ids.push((await app.post('/v1/pets', aNewPet(body), { key })).json.id);
      return app.send(kind === 'update' ? 'PATCH' : 'DELETE', path, {
        key,
        ...(kind === 'update' && { body }),
      });
    };
    const changes = fc.array(CHANGE, { minLength: 8, maxLength: 8 });
    const property = fc.asyncProperty(changes, fc.boolean(), async (given, isAdded) => {
      await Promise.all([...given.map(change), ...(isAdded ? [app.runDueWork()] : [])]);
      await expectExact();
    });
    // The rounds share one table: a shorter list of changes proves nothing.
    await fc.assert(property, { numRuns: 8, endOnFailure: true });
  });

  it('are exact after changes by SQL, rollbacks and TRUNCATE', async () => {
    await fill(400, 'n % 200');
    await expectExact();
    await app.runDueWork();
    await expectExact();
    await query(
      `UPDATE pets SET status = 'available', category_id = category_id + 1 WHERE category_id > 150`,
    );
    await query('DELETE FROM pets WHERE category_id < 100');
    await query('BEGIN; DELETE FROM pets; ROLLBACK');
    await expectExact();
    await query('BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE pets CASCADE; COMMIT');
    await expectExact();
    for (const table of ['pet_words', 'pet_counts', 'pet_count_changes'])
      expect(await query(`SELECT FROM ${table}`)).toEqual([]);
  });

  it('are added up while a logical replica gets all tables', async () => {
    await app.database.administer('CREATE PUBLICATION everything FOR ALL TABLES');
    try {
      const { json } = await app.post('/v1/pets', aNewPet(), { key });
      await app.runDueWork();
      expect((await app.send('DELETE', `/v1/pets/${json.id}`, { key })).status).toBe(204);
      await app.runDueWork();
      await expectExact();
      expect(await query('SELECT FROM pet_count_changes')).toEqual([]);
    } finally {
      await app.database.administer('DROP PUBLICATION everything');
    }
  });

  it('have an item for each category of the request, once and ascending, of at most 100', async () => {
    expect(
      (await app.get('/v1/store/inventory?categoryId=7&categoryId=3&categoryId=7', { key })).json,
    ).toEqual([3, 7].map((categoryId) => ({ available: 0, pending: 0, sold: 0, categoryId })));
    const many = Array.from({ length: 101 }, (_, at) => `categoryId=${at}`).join('&');
    expectError(await app.get(`/v1/store/inventory?${many}`, { key }), 400, 'validation_failed');
  });

  it('let no writer wait for another one, nor for their addition', async () => {
    const [open, adding] = [
      await connectAdmin(app.database.directUrl),
      await connectAdmin(app.database.directUrl),
    ];
    await open.query(`BEGIN; INSERT INTO pets (name, category_id, status) VALUES ('Rex', 3, 'sold')`);
    expect(await app.post('/v1/pets', aNewPet(), { key })).toMatchObject({ status: 201 });
    await app.runDueWork();
    await expectExact();
    await adding.query('BEGIN; SELECT FROM pet_count_totals FOR UPDATE');
    expect(await app.post('/v1/pets', aNewPet(), { key })).toMatchObject({ status: 201 });
    await open.query('COMMIT');
    await expectExact();
    await adding.query('COMMIT');
    await app.runDueWork();
    await expectExact();
    for (const session of [open, adding]) await session.end();
  });

  it.each([
    ['pets', 'pets/search?q=bella'],
    ['pet_count_totals', 'store/inventory'],
    ['pet_count_totals', 'store/inventory?categoryId=3'],
    ['pet_count_totals', 'categories'],
  ])('lock %s before all other tables for %s, so that a TRUNCATE does not deadlock', async (first, path) => {
    await app.post('/v1/pets', aNewPet({ name: 'Bella' }), { key });
    const truncating = await connectAdmin(app.database.directUrl);
    // PostgreSQL locks in one order when it parses a statement, in another for its first plans and for later ones.
    try {
      for (let time = 0; time < 7; time += 1) {
        await truncating.query(`BEGIN; LOCK TABLE ${first}`);
        const response = app.get(`/v1/${path}`, { key });
        // The addition of the counts may hold its own tables at any moment; only the session of the request counts.
        let held: unknown;
        await until(async () => {
          const [waiting] = await app.database.query<{ tables: string[] }>(
            `SELECT ARRAY(SELECT relation::regclass::text FROM pg_locks held
               WHERE pid = activity.pid AND granted AND relation::regclass::text ~ '^pet(s$|_count|_words)') AS tables
             FROM pg_locks waiting JOIN pg_stat_activity activity USING (pid)
             WHERE NOT granted AND relation = $1::regclass AND query NOT LIKE '%SKIP LOCKED%'`,
            [first],
          );
          held = waiting?.tables;
          return waiting !== undefined;
        });
        expect(held).toEqual([]);
        await truncating.query('COMMIT');
        expect((await response).status).toBe(200);
      }
    } finally {
      // Its lock would stop the other tests.
      await truncating.end();
    }
  });

  it('are right after restore, import, revert and a new migration', async () => {
    const folder = backupFolder();
    await fill(100, 'n % 7');
    for (let time = 0; time < 3; time += 1) {
      await app.post('/v1/pets', aNewPet({ name: 'Zoë' }), { key });
      await app.runDueWork();
    }
    await app.post('/v1/pets', aNewPet({ name: 'Zoë' }), { key });
    await backup(app.database, folder.file('backup'));
    const target = await createDatabase('template0');
    await restore(target, folder.file('backup'));
    const restored = await startApp({}, { database: target });
    const countFound = async (q: string) => (await restored.get(`/v1/pets/search?q=${q}`)).json.length;
    await expectExact(restored);
    expect(await countFound('zoe')).toBe(4);
    await restored.post('/v1/pets', aNewPet());
    await expectExact(restored);
    await restored.runDueWork();
    await restored.post('/v1/pets', aNewPet());
    await expectExact(restored);
    writeFileSync(folder.file('pets.csv'), 'name,categoryId,status\nImported,3,sold\nImported,4,pending\n');
    const settings = { DATABASE_URL: target.url };
    expect((await runCli(['pets', 'import', folder.file('pets.csv')], settings)).status).toBe(0);
    await expectExact(restored);
    expect(await countFound('import')).toBe(2);
    // The previous version runs on the new schema, and this one migrates what it has changed.
    await new FEATURE.create().down({ query: (text: string) => target.query(text) } as never);
    await target.query(`DELETE FROM migrations WHERE name = '${FEATURE.name}'`);
    await target.query(`UPDATE pets SET status = 'pending', name = 'Later' WHERE category_id = 3`);
    await migrate(schemaConfig(target.directUrl));
    await expectExact(restored);
    expect(await countFound('later')).toBeGreaterThan(0);
    await restored.close();
    folder.remove();
  });

  it('read few buffers while an old snapshot keeps the rows of changes that were added up', async () => {
    const old = await connectAdmin(app.database.directUrl);
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pets');
    await fill(5_000, 'n');
    // The position follows when all transactions of the server from before have ended.
    await until(async () => {
      await app.post('/v1/pets', aNewPet({ categoryId: 1 }), { key });
      await app.runDueWork();
      const [row] = await query('SELECT counted_to >= 5000 AS done FROM pet_count_totals');
      return row?.['done'] === true;
    });
    const rows: { 'QUERY PLAN': string }[] = await app.database.query(
      'EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM pet_count_changes WHERE id > (SELECT counted_to FROM pet_count_totals) ORDER BY id',
    );
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(Number(/hit=(\d+)/.exec(text)![1])).toBeLessThan(25);
    await old.end();
  });
});
