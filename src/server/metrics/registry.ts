import { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';

/** Prefix of every name: one Prometheus may collect from many services. */
export const PREFIX = 'animal_store_';

/** Facts of other folders that the metrics read at every scrape. */
export interface MetricSources {
  readonly isLimitShared: () => boolean;
  /** The connections of the service's listener, and the number that MAX_CONNECTIONS rejected. */
  readonly connections: { readonly size: number; readonly refused: number };
  /** Returns the number of log lines dropped since the start. */
  readonly droppedLines: () => number;
}

/** Creates the metrics of one application. Values of the process and the pool are read at each scrape. */
export function createRegistry(source: DataSource): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  const connections = new Gauge({
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
  registry.registerMetric(connections);
  const waiting = 'Queries and transactions that wait for a database connection.';
  add(registry, Gauge, 'database_pool_waiting_requests', waiting, () => poolOf(source)?.waitingCount ?? 0);
  const size = 'Maximum number of connections in the pool.';
  add(registry, Gauge, 'database_pool_size', size, () => poolOf(source)?.options.max ?? 0);
  return registry;
}

export function addSources(registry: Registry, sources: MetricSources): void {
  const { isLimitShared, connections, droppedLines } = sources;
  const shared =
    '1 if the rate-limit counters are shared through Redis, 0 if this instance counts separately.';
  add(registry, Gauge, 'rate_limit_shared', shared, () => (isLimitShared() ? 1 : 0));
  add(registry, Gauge, 'http_connections', 'Open client connections.', () => connections.size);
  const shed = 'New connections closed because MAX_CONNECTIONS was reached (refused).';
  const outcome = { outcome: 'refused' };
  add(registry, Counter, 'http_connections_shed_total', shed, () => connections.refused, outcome);
  addDroppedLines(registry, droppedLines);
}

export function addDroppedLines(registry: Registry, droppedLines: () => number): void {
  const help = 'Log lines dropped because standard output could not be written.';
  add(registry, Counter, 'log_lines_dropped_total', help, droppedLines);
}

/** Adds a metric that is read at each scrape. */
function add(
  registry: Registry,
  type: typeof Gauge | typeof Counter,
  name: string,
  help: string,
  read: () => number,
  labels: Readonly<Record<string, string>> = {},
): void {
  const metric: Gauge | Counter = new type({
    name: `${PREFIX}${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [],
    collect: () => {
      metric.reset();
      metric.inc(labels, read());
    },
  });
  registry.registerMetric(metric);
}

/** Returns TypeORM's connection pool, which its type does not show. */
function poolOf({ driver }: DataSource): Pool | undefined {
  return 'master' in driver && driver.master instanceof Pool ? driver.master : undefined;
}
