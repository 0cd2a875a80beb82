import type { TestApp } from './app';

/** Returns a body that createPet accepts, with the overrides of the spec. */
export function aNewPet(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'Rex', categoryId: 3, ...overrides };
}

/** Inserts `count` animals with SQL, with the given statuses in turn. */
export async function fillPets(
  { database }: Pick<TestApp, 'database'>,
  count: number,
  statuses: readonly string[] = ['available'],
): Promise<void> {
  await database.query(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'animal ' || i, i, ($2::text[])[1 + i % cardinality($2::text[])] FROM generate_series(1, $1) AS i`,
    [count, statuses],
  );
}

/** Sets the next id of a table. */
export async function moveSequence(app: TestApp, table: string, next: bigint): Promise<void> {
  await app.database.query(`ALTER TABLE ${table} ALTER COLUMN id RESTART WITH ${next}`);
}
