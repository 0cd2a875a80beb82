import type { TestDatabase } from './database';

/** Does something while a table has another name. Restores the name also after a failure, because later specs need it. */
export async function withoutTable<T>(
  { query }: Pick<TestDatabase, 'query'>,
  table: string,
  work: () => Promise<T>,
): Promise<T> {
  await query(`ALTER TABLE ${table} RENAME TO away`);
  try {
    return await work();
  } finally {
    await query(`ALTER TABLE away RENAME TO ${table}`);
  }
}
