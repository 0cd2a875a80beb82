import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { channelToPrimary } from './channel';
import { SECOND_MS } from './time';

/** Adds a metric that is read from the database at each scrape: NaN if that fails or takes a second. */
export function addScrapedGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<number | undefined>,
): void {
  // The primary process reads it for all workers.
  if (channelToPrimary) return;
  const collect = async (): Promise<void> => {
    const value = await Promise.race([read().catch(() => undefined), sleep(SECOND_MS)]);
    gauge.set(value ?? Number.NaN);
  };
  const gauge = new Gauge({ name, help, registers: [registry], collect });
}
