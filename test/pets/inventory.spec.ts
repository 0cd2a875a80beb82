import { writeFileSync } from 'node:fs';
import { PET_STATUSES } from '../../src/pets';
import { PetCountsRepository } from '../../src/pets/pet-counts.repository';
import { migrate } from '../../src/platform/database/migrate';
import { Sql } from '../../src/platform/database/sql';
import { migrations, schemaConfig } from '../support/schema-config';
import { backup, backupFolder, restore } from '../database/support/backups';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { connectAdmin, createDatabase, type TestDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { until } from '../support/until';

const COUNTS = PET_STATUSES.map(
  (status) => `count(*) FILTER (WHERE status = '${status}')::float8 AS ${status}`,
).join();
const MAX = 9223372036854775807n;
const FEATURE = migrations.find(({ name }) => name.startsWith('PetWordsAndCounts'))!;

describe('the counts of animals', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  beforeEach(() => app.database.truncate('pets CASCADE'));
  afterAll(() => app.close());

  const get = async (path: string) => {
    const { status, json } = await app.get(`/v1/${path}`, { key });
    expect(status).toBe(200);
    return json;
  };
  const addUp = (database: TestDatabase = app.database) =>
    new PetCountsRepository({
      rows: (text: string) => database.query(text),
      transaction: (work: () => Promise<unknown>) => work(),
    } as unknown as Sql).addUp();

  /** Expects all three operations to return what the table has. */
  async function expectExact(at: TestApp = app) {
    const byCategory = await at.database.query(
      `SELECT category_id::float8 AS "categoryId", ${COUNTS} FROM pets GROUP BY category_id ORDER BY 1`,
    );
    const [total] = await at.database.query(`SELECT ${COUNTS} FROM pets`);
    const read = async (path: string) =>
      (await at.get(`/v1/${path}`, { key: at === app ? key : at.key })).json;
    expect(await read('store/inventory')).toEqual(total);
    expect(await read('categories?limit=100')).toEqual(byCategory);
    const ids = byCategory.map(({ categoryId }) => `categoryId=${categoryId}`).concat('categoryId=-5');
    const none = { categoryId: -5, available: 0, pending: 0, sold: 0 };
    expect(await read(`store/inventory?${ids.toReversed().join('&')}`)).toEqual([none, ...byCategory]);
  }

  it('are exact after each change of concurrent writers, whether or not they were added up', async () => {
    let seed = 11;
    const pick = (count: number) => (seed = (seed * 48_271) % 2_147_483_647) % count;
    const status = () => PET_STATUSES[pick(3)]!;
    const ids: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      const changes = Array.from({ length: 8 }, async () => {
        const id = ids.length > 0 ? ids[pick(ids.length)] : undefined;
        const body = { status: status(), categoryId: pick(5) };
        switch (id === undefined ? 0 : pick(5)) {
          case 0:
          case 1: {
            const { json } = await app.post('/v1/pets', aNewPet(body), { key });
            return ids.push(json.id);
          }
          case 2:
            return app.send('PATCH', `/v1/pets/${id}`, { key, body });
          case 3:
            return app.send('DELETE', `/v1/pets/${id}`, { key });
          default:
            return app.post(
              '/v1/pets/batch',
              { items: Array.from({ length: 5 }, () => aNewPet(body)) },
              { key },
            );
        }
      });
      await Promise.all(round % 3 === 0 ? [...changes, addUp()] : changes);
      await expectExact();
    }
  });

  it('are exact after changes by SQL: COPY-like inserts, MERGE-like upserts, rollbacks and TRUNCATE', async () => {
    const query = (text: string) => app.database.query(text);
    await query(
      `INSERT INTO pets (name, category_id, status) SELECT 'Rex', n % 300, 'sold' FROM generate_series(1, 1000) n`,
    );
    await expectTotals(300);
    await addUp();
    await expectTotals(300);
    await query(
      `UPDATE pets SET status = 'available', category_id = category_id + 1 WHERE category_id > 150`,
    );
    await query('DELETE FROM pets WHERE category_id < 100');
    await query(`BEGIN; DELETE FROM pets; ROLLBACK`);
    await expectTotals(200);
    await query('BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE pets CASCADE; COMMIT');
    await expectExact();
    expect(await get('categories')).toEqual([]);
    for (const table of ['pet_words', 'pet_counts', 'pet_count_changes'])
      expect(await query(`SELECT FROM ${table}`)).toEqual([]);
  });

  /** Follows the pages of the categories, and compares their sums. */
  async function expectTotals(categories: number) {
    const found: Record<string, number>[] = [];
    for (let next: string | undefined = 'categories?limit=77'; next !== undefined;) {
      const page = await app.get(`/v1/${next.replace('/v1/', '')}`, { key });
      found.push(...page.json);
      next = linksOf(page)['next'];
    }
    expect(new Set(found.map(({ categoryId }) => categoryId)).size).toBe(categories);
    expect(found).toHaveLength(categories);
    const sum = (status: string) => found.reduce((total, each) => total + each[status]!, 0);
    expect(Object.fromEntries(PET_STATUSES.map((status) => [status, sum(status)]))).toEqual(
      await get('store/inventory'),
    );
  }

  it('are added up while a logical replica gets all tables', async () => {
    await app.database.administer('CREATE PUBLICATION everything FOR ALL TABLES');
    try {
      const { json } = await app.post('/v1/pets', aNewPet(), { key });
      await addUp();
      expect((await app.send('DELETE', `/v1/pets/${json.id}`, { key })).status).toBe(204);
      await addUp();
      await expectExact();
    } finally {
      await app.database.administer('DROP PUBLICATION everything');
    }
  });

  it('have the ends of int64, and an item for each category of the request, once and ascending', async () => {
    await app.post('/v1/pets', `{"name":"a","categoryId":${MAX}}`, { key });
    await app.post('/v1/pets', `{"name":"a","categoryId":-${MAX + 1n},"status":"sold"}`, { key });
    const { text } = await app.get('/v1/categories', { key });
    expect(text).toBe(
      `[{"available":0,"pending":0,"sold":1,"categoryId":-${MAX + 1n}},{"available":1,"pending":0,"sold":0,"categoryId":${MAX}}]`,
    );
    const first = await app.get('/v1/categories?limit=1', { key });
    expect((await app.get(linksOf(first)['next']!, { key })).text).toContain(`${MAX}`);
    expect(await get('store/inventory?categoryId=7&categoryId=3&categoryId=7')).toEqual(
      [3, 7].map((categoryId) => ({ available: 0, pending: 0, sold: 0, categoryId })),
    );
    const many = Array.from({ length: 101 }, (_, at) => `categoryId=${at}`).join('&');
    expectError(await app.get(`/v1/store/inventory?${many}`, { key }), 400, 'validation_failed');
    expectError(await app.get('/v1/categories?cursor=abc', { key }), 400, 'invalid_cursor');
    const { key: other } = await app.createKey({ scopes: ['orders:read'] });
    for (const path of ['categories', 'store/inventory'])
      expectError(await app.get(`/v1/${path}`, { key: other }), 403, 'insufficient_scope');
  });

  it('let no writer wait for another one, nor for their addition', async () => {
    await app.post('/v1/pets', aNewPet(), { key });
    const open = await connectAdmin(app.database.directUrl);
    await open.query(`BEGIN; INSERT INTO pets (name, category_id, status) VALUES ('Rex', 3, 'sold')`);
    expect(await app.post('/v1/pets', aNewPet(), { key })).toMatchObject({ status: 201 });
    await addUp();
    await expectExact();
    const adding = await connectAdmin(app.database.directUrl);
    await adding.query('BEGIN; SELECT FROM pet_count_totals FOR UPDATE');
    expect(await app.post('/v1/pets', aNewPet(), { key })).toMatchObject({ status: 201 });
    await open.query('COMMIT');
    await expectExact();
    await adding.query('COMMIT');
    await addUp();
    await addUp();
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
      for (let time = 0; time < 8; time += 1) {
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
    await app.database.query(
      `INSERT INTO pets (name, category_id, status) SELECT 'Rex ' || n, n % 7, 'sold' FROM generate_series(1, 100) n`,
    );
    await addUp();
    await app.post('/v1/pets', aNewPet({ name: 'Zoë' }), { key });
    await backup(app.database, folder.file('backup'));
    const target = await createDatabase('template0');
    await restore(target, folder.file('backup'));
    const restored = await startApp({}, { database: target });
    await expectExact(restored);
    expect((await restored.get('/v1/pets/search?q=zoe')).json).toHaveLength(1);
    writeFileSync(folder.file('pets.csv'), 'name,categoryId,status\nImported,3,sold\nImported,4,pending\n');
    const { status, all } = await runCli(['pets', 'import', folder.file('pets.csv')], {
      DATABASE_URL: target.url,
    });
    expect([status, all]).toEqual([0, expect.any(String)]);
    await expectExact(restored);
    expect((await restored.get('/v1/pets/search?q=import')).json).toHaveLength(2);
    // The previous version runs on the new schema, and this one migrates what it has changed.
    const runner = { query: (text: string) => target.query(text) } as never;
    await new FEATURE.create().down(runner);
    await target.query(`DELETE FROM migrations WHERE name = '${FEATURE.name}'`);
    await target.query(`UPDATE pets SET status = 'pending', name = 'Later' WHERE category_id = 3`);
    await migrate(schemaConfig(target.directUrl));
    await expectExact(restored);
    expect((await restored.get('/v1/pets/search?q=later&limit=100')).json).not.toEqual([]);
    // The restored changes of counts have other numbers than those of the source.
    await backup(target, folder.file('migrated'));
    const again = await createDatabase('template0');
    await restore(again, folder.file('migrated'));
    const last = await startApp({}, { database: again });
    await last.post('/v1/pets', aNewPet());
    await expectExact(last);
    await addUp(again);
    await last.post('/v1/pets', aNewPet());
    await expectExact(last);
    for (const each of [last, restored]) await each.close();
    folder.remove();
  });

  it('read few buffers while an old snapshot keeps the rows of changes that were added up', async () => {
    const old = await connectAdmin(app.database.directUrl);
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pets');
    for (let round = 0; round < 4; round += 1) {
      await app.database.query(
        `INSERT INTO pets (name, category_id, status) SELECT 'Rex', n, 'sold' FROM generate_series(1, 4000) n`,
      );
      await addUp();
    }
    // It follows when all transactions of the server from before have ended.
    await until(async () => {
      await app.post('/v1/pets', aNewPet({ categoryId: 1 }), { key });
      await addUp();
      const [row] = await app.database.query('SELECT counted_to >= 16000 AS done FROM pet_count_totals');
      return row?.['done'] === true;
    });
    const rows: { 'QUERY PLAN': string }[] = await app.database.query(
      'EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM pet_count_changes WHERE id > (SELECT counted_to FROM pet_count_totals) ORDER BY id',
    );
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(Number(/hit=(\d+)/.exec(text)![1])).toBeLessThan(60);
    await expectTotals(4_000);
    await old.end();
  });
});
