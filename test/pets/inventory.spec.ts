import { writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { PET_STATUSES } from '../../src/pets';
import { backup, backupFolder, restore } from '../database/support/backups';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { untilWaiting } from '../support/lock-waits';
import { holdMeasuredTime, pass } from '../support/timers';

const COUNTS = PET_STATUSES.map(
  (status) => `count(*) FILTER (WHERE status = '${status}')::float8 AS ${status}`,
).join();
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
    for (let next: string | undefined = '/v1/categories?limit=2'; next !== undefined;) {
      const page = await get(next);
      found.push(...page.json);
      next = linksOf(page)['next'];
    }
    expect(found).toEqual(byCategory);
    const none = { categoryId: -5, available: 0, pending: 0, sold: 0 };
    const counted = [none, ...byCategory.slice(0, 98)];
    // Each once, ascending.
    const asked = [...counted.toReversed(), none].map(({ categoryId }) => `categoryId=${categoryId}`);
    expect((await get(`/v1/store/inventory?${asked.join('&')}`)).json).toEqual(counted);
  }

  it('are exact after each change of concurrent writers', async () => {
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
    const property = fc.asyncProperty(changes, async (given) => {
      await Promise.all(given.map(change));
      await expectExact();
    });
    // The rounds share one table: a shorter list of changes proves nothing.
    await fc.assert(property, { numRuns: 8, endOnFailure: true });
  });

  it('are 400 for more than 100 categories', async () => {
    const many = Array.from({ length: 101 }, (_, at) => `categoryId=${at}`).join('&');
    expectError(await app.get(`/v1/store/inventory?${many}`, { key }), 400, 'validation_failed');
  });

  it('are right after a restore and an import, as the words of names are', async () => {
    const folder = backupFolder();
    await fill(100, 'n % 7');
    await app.post('/v1/pets', aNewPet({ name: 'Zoë' }), { key });
    await backup(app.database, folder.file('backup'));
    const target = await createDatabase('template0');
    await restore(target, folder.file('backup'));
    const restored = await startApp({}, { database: target });
    const countFound = async (q: string) => (await restored.get(`/v1/pets?q=${q}`)).json.length;
    expect(await countFound('zoe')).toBe(1);
    writeFileSync(folder.file('pets.csv'), 'name,categoryId,status\nImported,3,sold\nImported,4,pending\n');
    const settings = { DATABASE_URL: target.url };
    expect((await runCli(['pets', 'import', folder.file('pets.csv')], settings)).status).toBe(0);
    await expectExact(restored);
    expect(await countFound('import')).toBe(2);
    await restored.close();
    folder.remove();
  });

  it('are counted one query at a time; 503 for one that waited longer than DATABASE_POOL_WAIT_MS', async () => {
    const busy = await startApp({ databasePoolWaitMs: 30_000 }, { beside: app });
    const inventory = (filter = '') => busy.get(`/v1/store/inventory${filter}`, { key });
    // The key is known, so that the counts are the only queries.
    await inventory();
    holdMeasuredTime();
    await app.database.query('BEGIN; LOCK TABLE pets');
    const counts = ['', '?categoryId=1', '?categoryId=2'].map(inventory);
    await untilWaiting(app.database);
    // All have arrived before this request.
    await busy.get('/v1/key', { key });
    pass({ seconds: 31 });
    await app.database.query('COMMIT');
    const statuses = (await Promise.all(counts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(2);
    expect(statuses).toContain(200);
    expect((await inventory('?categoryId=2')).status).toBe(200);
    jest.useRealTimers();
    await busy.close();
  });
});
