import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Sql } from '../database/sql';
import { SECOND_MS } from '../time/time';

/**
 * Adds a metric that each scrape reads from the database: NaN if that fails or takes a second.
 *
 * @param query selects `seconds`, or no row for 0
 */
export function addScrapedGauge(registry: Registry, sql: Sql, name: string, help: string, query: string) {
  const read = async () => (await sql.rows<{ seconds: number }>(query, []))[0]?.seconds ?? 0;
  const collect = async (): Promise<void> => {
    const late = sleep(SECOND_MS, Number.NaN, { ref: false });
    gauge.set(await Promise.race([read(), late]).catch(() => Number.NaN));
  };
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], aggregator: 'first', collect });
}
