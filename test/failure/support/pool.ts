import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { TestApp } from '../../support/app';

/** Returns TypeORM's connection pool, which its types do not declare. */
export function poolOf({ nest }: Pick<TestApp, 'nest'>): Pool {
  return (nest.get(DataSource).driver as unknown as { master: Pool }).master;
}
