import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { SECOND_MS } from '../time/time';

/** Adds a metric that each scrape reads from the database: NaN if that fails or takes a second. */
export function addScrapedGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<number>,
): void {
  const collect = async (): Promise<void> => {
    const value = await Promise.race([read(), sleep(SECOND_MS)]).catch(() => undefined);
    gauge.set(value ?? Number.NaN);
  };
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], aggregator: 'first', collect });
}
