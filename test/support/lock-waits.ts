import type { TestDatabase } from './database';
import { until } from './until';

type Queried = Pick<TestDatabase, 'query'>;

/**
 * Returns the sessions of this database that wait for a lock. The server has the databases of other specs too.
 *
 * A wait for a row has no database in pg_locks, but its session holds a lock on the table.
 */
export function lockWaits(database: Queried): Promise<{ pid: number }[]> {
  return database.query<{ pid: number }>(`
    SELECT pid FROM pg_locks WHERE NOT granted AND pid IN (
      SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database())`);
}

/** Resolves when as many sessions of this database wait for a lock. */
export function untilWaiting(database: Queried, count = 1): Promise<void> {
  return until(async () => (await lockWaits(database)).length >= count);
}
