import { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';

/** Prefix of every name: one Prometheus may collect from many services. */
export const PREFIX = 'animal_store_';

/** Creates the metrics of one application. Values of the process and the pool are read at each scrape. */
export function createRegistry(source: DataSource): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  registry.registerMetric(poolConnections(source));
  registry.registerMetric(poolWaiting(source));
  registry.registerMetric(poolSize(source));
  return registry;
}

/** Adds a gauge that shows if the rate-limit counters are shared through Redis. */
export function addSharedLimit(registry: Registry, isShared: () => boolean): void {
  const gauge = new Gauge({
    name: `${PREFIX}rate_limit_shared`,
    help: '1 if the rate-limit counters are shared through Redis, 0 if this instance counts separately.',
    registers: [],
    collect() {
      this.set(isShared() ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}

/** The connections of the service's listener, and the number that MAX_CONNECTIONS rejected. */
export interface OpenConnections {
  readonly size: number;
  readonly refused: number;
}

export function addConnections(registry: Registry, connections: OpenConnections): void {
  const open = new Gauge({
    name: `${PREFIX}http_connections`,
    help: 'Open client connections.',
    registers: [],
    collect() {
      this.set(connections.size);
    },
  });
  const shed = new Counter({
    name: `${PREFIX}http_connections_shed_total`,
    help: 'New connections closed because MAX_CONNECTIONS was reached (refused).',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset();
      this.inc({ outcome: 'refused' }, connections.refused);
    },
  });
  registry.registerMetric(open);
  registry.registerMetric(shed);
}

/** @param droppedLines returns the number of log lines dropped since the start */
export function addDroppedLines(registry: Registry, droppedLines: () => number): void {
  const counter = new Counter({
    name: `${PREFIX}log_lines_dropped_total`,
    help: 'Log lines dropped because standard output could not be written.',
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
    help: 'Open database connections by state: in_use or idle.',
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
    help: 'Queries and transactions that wait for a database connection.',
    registers: [],
    collect() {
      this.set(poolOf(source)?.waitingCount ?? 0);
    },
  });
}

function poolSize(source: DataSource): Gauge {
  return new Gauge({
    name: `${PREFIX}database_pool_size`,
    help: 'Maximum number of connections in the pool.',
    registers: [],
    collect() {
      this.set(poolOf(source)?.options.max ?? 0);
    },
  });
}

/** Returns TypeORM's connection pool, which its type does not show. */
function poolOf({ driver }: DataSource): Pool | undefined {
  return 'master' in driver && driver.master instanceof Pool ? driver.master : undefined;
}
