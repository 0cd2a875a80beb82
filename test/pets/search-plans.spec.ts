import type { Config } from '../../src/platform/config/config';
import type { Sql, Statement } from '../../src/platform/database/sql';
import { PetCountsRepository } from '../../src/pets/pet-counts.repository';
import { PetSearchRepository } from '../../src/pets/pet-search.repository';
import { PetSearch } from '../../src/pets/pet-search.service';
import { SearchPetsQuery } from '../../src/pets/pets.dto';
import type { TestDatabase } from '../support/database';
import { buffersOf, describeOnEachServer } from '../support/each-server';

const MANY = 30_000;

/** Names of which most are the same, have one letter, or differ at their beginning or end only. */
const FILL = `
  INSERT INTO pets (name, category_id, status)
  SELECT CASE n % 8 WHEN 0 THEN 'Bella' WHEN 1 THEN 'B' WHEN 2 THEN 'Bel' || md5(n::text)
      WHEN 3 THEN md5(n::text) || 'la' ELSE 'Bella the B' || n END,
    1 + n % 3, CASE WHEN n = ${MANY} THEN 'sold' ELSE 'available' END
  FROM generate_series(1, ${MANY}) AS n;
  INSERT INTO pets (name, category_id, status) VALUES ('Žofie', 7, 'pending'), ('БЕЛКА', 7, 'sold'), ('Beauregard', 8, 'sold')`;

const QUERIES: readonly (readonly [q: string, filter: Partial<SearchPetsQuery>])[] = [
  ...[
    'bella',
    'b',
    'bel',
    'bela',
    'bexla',
    'ella',
    'zofie',
    'zofei',
    'белк',
    'bella the b',
    'the bella b7',
    'qqq',
  ].map((q) => [q, {}] as const),
  ['a b c d e f g h i j k l m n o p q r s t u v w x y z', {}],
  ['x'.repeat(100), {}],
  ['bella', { status: ['sold'] }],
  ['bela', { status: ['sold'] }],
  ['bella', { categoryId: 7n }],
  ['bella the b', { categoryId: 1n, status: ['pending', 'sold'] }],
];

describeOnEachServer('a search', (createDatabase) => {
  let database: Pick<TestDatabase, 'drop' | 'query'>;
  let buffers: number;
  let ofEmptyStore: readonly unknown[];
  beforeAll(async () => {
    database = await createDatabase();
    // VACUUM does not see rows of a commit that is not written yet.
    await database.query('SET statement_timeout = 0; SET synchronous_commit = on');
    // PostgreSQL keeps the plan of the empty table until it analyzes the table.
    ofEmptyStore = (await find('bella')).items;
    await database.query(FILL);
    await database.query('VACUUM ANALYZE pets, pet_words, pet_count_changes');
  });
  afterAll(() => database.drop());

  /** Counts the buffers of each statement. */
  const sql = {
    rows: async (given: Statement | string, parameters: unknown[]) => {
      const text = typeof given === 'string' ? given : given.text;
      if (text.includes('FROM')) buffers += await buffersOf(database, text, parameters);
      const rows = await database.query<Record<string, unknown>>(text, parameters);
      return rows.map((row) => (typeof row['id'] === 'string' ? { ...row, id: BigInt(row['id']) } : row));
    },
  };
  // The repositories use nothing else of it.
  const names = new PetSearchRepository(sql as unknown as Sql);
  const search = new PetSearch(names, { databasePoolSize: 4 } as Config);

  it('finds nothing in an empty store', () => expect(ofEmptyStore).toEqual([]));

  describe(`with ${MANY} names that are alike`, () => {
    it.each(QUERIES)('for %j, %j reads at most 3,000 buffers for a page of 20', async (q, filter) => {
      await find(q, filter);
      expect(buffers).toBeLessThanOrEqual(3_000);
    });

    it('reads a page of a frequent name, and not all that it may look at', async () => {
      expect((await find('bella')).items).toHaveLength(20);
      expect(buffers).toBeLessThanOrEqual(200);
    });

    it('finds the same in each letter case and script as on other servers', async () => {
      expect(await names.wordsOf('ZOFIE žofei белкА')).toEqual(['zofie', 'zofei', 'белка']);
      expect((await find('zofei')).items.map(({ name }) => name)).toEqual(['Žofie']);
      expect((await find('bexla')).items.map(({ name }) => name)).toContain('Bella');
      expect((await find('Белка')).items.map(({ name }) => name)).toEqual(['БЕЛКА']);
    });

    it('finds a name whose beginning and end are misspelled', async () => {
      expect((await find('Qeauregadr')).items.map(({ name }) => name)).toEqual(['Beauregard']);
      expect(buffers).toBeLessThanOrEqual(3_000);
    });

    it('counts animals from at most 60 buffers', async () => {
      const counts = new PetCountsRepository(sql as unknown as Sql);
      buffers = 0;
      expect(await counts.total()).toEqual({ available: MANY - 1, pending: 1, sold: 3 });
      expect(await counts.ofCategories([7n])).toHaveLength(1);
      expect(await counts.page(-7n, 21)).toHaveLength(5);
      expect(buffers).toBeLessThanOrEqual(60);
    });
  });

  function find(q: string, filter: Partial<SearchPetsQuery> = {}) {
    buffers = 0;
    return search.find(Object.assign(new SearchPetsQuery(), { q }, filter));
  }
});
