import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { SECOND_MS } from '../time/time';

/**
 * Adds metrics that one query reads from the database at each scrape: NaN if that fails or takes a second.
 *
 * @param helps by the names of the metrics
 * @param read returns their values in this order
 */
export function addScrapedGauges(
  registry: Registry,
  helps: Readonly<Record<string, string>>,
  read: () => Promise<readonly number[]>,
): void {
  let reading: Promise<readonly number[] | void> | undefined;
  // A scrape collects all metrics concurrently.
  const readOnce = () =>
    (reading ??= Promise.race([read(), sleep(SECOND_MS)])
      .catch(() => undefined)
      .finally(() => (reading = undefined)));
  for (const [at, [name, help]] of Object.entries(helps).entries()) {
    const collect = async (): Promise<void> => gauge.set((await readOnce())?.[at] ?? Number.NaN);
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], aggregator: 'first', collect });
  }
}
