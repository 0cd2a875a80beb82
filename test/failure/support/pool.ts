import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { TestApp } from '../../support/app';

/** Returns TypeORM's connection pool, which its types do not declare. */
export function poolOf({ nest }: Pick<TestApp, 'nest'>): Pool {
  return (nest.get(DataSource).driver as unknown as { master: Pool }).master;
}

/** Opens all sessions of the pool, and lets them wait longer for a lock than 2 s, which a busy machine may take. */
export async function waitForLocks(app: Pick<TestApp, 'nest'>): Promise<void> {
  const pool = poolOf(app);
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const client of clients) {
    await client.query('SET lock_timeout = 0; SET statement_timeout = 0');
    client.release();
  }
}
