import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { TestApp } from '../../support/app';
import { pass } from '../../support/timers';
import { until } from '../../support/until';

/** Returns TypeORM's connection pool, which its types do not declare. */
export function poolOf({ nest }: Pick<TestApp, 'nest'>): Pool {
  return (nest.get(DataSource).driver as unknown as { master: Pool }).master;
}

/** Repeats `end`, which ends connections, until the pool has none: the next request must open one. */
export function emptyPool(app: Pick<TestApp, 'nest'>, end: () => unknown): Promise<void> {
  return until(async () => {
    await end();
    return poolOf(app).totalCount === 0;
  });
}

/**
 * Reads until a read shares a connection: then it needs none of the pool. Needs `holdMeasuredTime`. The time passes once: a
 * connection that is being opened would reach its limit.
 */
export function untilShared(app: Pick<TestApp, 'nest'>, read: () => Promise<unknown>): Promise<void> {
  pass({ seconds: 1 });
  return until(async () => {
    const acquired = jest.fn();
    const pool = poolOf(app).on('acquire', acquired);
    await read();
    pool.off('acquire', acquired);
    return acquired.mock.calls.length === 0;
  });
}
