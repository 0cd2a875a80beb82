import { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import type { Config } from '../config/config';

/** In front of every name, so that one Prometheus can hold many services. */
export const PREFIX = 'animal_store_';

/** The metrics of one application: those of the process and of its pool are read whenever they are asked for. */
export function createRegistry({ databasePoolSize }: Config, source: DataSource): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  registry.registerMetric(poolConnections(source));
  registry.registerMetric(poolWaiting(source));
  registry.registerMetric(poolSize(databasePoolSize));
  return registry;
}

/** @param isShared whether the limit's counters are, at the moment it is asked */
export function addSharedLimit(registry: Registry, isShared: () => boolean): void {
  const gauge = new Gauge({
    name: `${PREFIX}rate_limit_shared`,
    help: 'Whether the counters of the limit are shared through Redis (1), or this instance counts by itself (0).',
    registers: [],
    collect() {
      this.set(isShared() ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}

/** @param connections the service's listener, read whenever the metrics are scraped */
export function addConnections(
  registry: Registry,
  connections: {
    readonly size: number;
    readonly overload: { readonly counts: Readonly<Record<'closed' | 'refused', number>> };
  },
): void {
  const open = new Gauge({
    name: `${PREFIX}http_connections`,
    help: 'Open connections of clients.',
    registers: [],
    collect() {
      this.set(connections.size);
    },
  });
  const shed = new Counter({
    name: `${PREFIX}http_connections_shed_total`,
    help: 'Connections ended because MAX_CONNECTIONS was reached: idle ones closed for a newcomer, newcomers refused.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(connections.overload.counts))
        this.inc({ outcome }, count);
    },
  });
  registry.registerMetric(open);
  registry.registerMetric(shed);
}

/** @param droppedLines lines of the log that were lost since the start */
export function addDroppedLines(registry: Registry, droppedLines: () => number): void {
  const counter = new Counter({
    name: `${PREFIX}log_lines_dropped_total`,
    help: 'Lines of the log that were dropped because standard output could not be written.',
    registers: [],
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
  registry.registerMetric(counter);
}

function poolConnections(source: DataSource): Gauge {
  return new Gauge({
    name: `${PREFIX}database_pool_connections`,
    help: 'Open connections to the database, by state: in_use or idle.',
    labelNames: ['state'],
    registers: [],
    collect() {
      const { totalCount = 0, idleCount = 0 } = poolOf(source) ?? {};
      this.set({ state: 'in_use' }, totalCount - idleCount);
      this.set({ state: 'idle' }, idleCount);
    },
  });
}

function poolWaiting(source: DataSource): Gauge {
  return new Gauge({
    name: `${PREFIX}database_pool_waiting_requests`,
    help: 'Queries and transactions that wait for a connection to the database.',
    registers: [],
    collect() {
      this.set(poolOf(source)?.waitingCount ?? 0);
    },
  });
}

function poolSize(size: number): Gauge {
  const gauge = new Gauge({
    name: `${PREFIX}database_pool_size`,
    help: 'Most connections to the database that this process opens.',
    registers: [],
  });
  gauge.set(size);
  return gauge;
}

/** The pool that TypeORM owns; its type does not show it. */
function poolOf({ driver }: DataSource): Pool | undefined {
  return 'master' in driver && driver.master instanceof Pool ? driver.master : undefined;
}
