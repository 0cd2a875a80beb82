import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { TestApp } from '../../support/app';

/** The pool of connections that TypeORM owns; its type does not show it. */
export function poolOf({ nest }: Pick<TestApp, 'nest'>): Pool {
  return (nest.get(DataSource).driver as unknown as { master: Pool }).master;
}
