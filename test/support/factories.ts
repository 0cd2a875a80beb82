import type { TestApp } from './app';

/** A body that createPet accepts; a spec names what it is about. */
export function aNewPet(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'Rex', categoryId: 3, ...overrides };
}

/** Adds `count` animals straight to the table, of the given statuses in turn. */
export async function fillPets(
  app: TestApp,
  count: number,
  statuses: string[] = ['available'],
): Promise<void> {
  await app.database.query(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'animal ' || i, i, ($2::text[])[1 + i % cardinality($2::text[])] FROM generate_series(1, $1) AS i`,
    [count, statuses],
  );
}

/** Makes the service hand out ids from here on. */
export async function moveSequence(app: TestApp, table: string, next: bigint): Promise<void> {
  await app.database.query(`ALTER TABLE ${table} ALTER COLUMN id RESTART WITH ${next}`);
}
