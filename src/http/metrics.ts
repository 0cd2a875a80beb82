import { fastify as createServer, type FastifyInstance } from 'fastify';
import { Pool } from 'pg';
import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { type Config, isWorker } from '../config/config';
import { commonErrors } from '../api/errors/common.errors';
import { listenError } from '../config/user-error';
import { rewriteTarget } from './framing';
import { sendError } from './send-error';
import type { Logger } from './logger';

/** One Prometheus may collect from many services. */
const PREFIX = 'animal_store_';

/** Node accepts more than 30 methods; each would be a separate series. */
const NAMED_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** With WORKERS: an average would hide the process that hangs; all workers have the same of what cannot be added. */
const OF_WORKERS: Partial<Record<Aggregator, Aggregator>> = { average: 'max', omit: 'first' };

/** The metrics of one application. No label has a value that a client can choose freely. */
export class Metrics {
  readonly registry = new Registry();
  private readonly durations = new Histogram({
    ...this.named(
      'http_request_duration_seconds',
      'Time from the headers of a request to the end of its response.',
    ),
    labelNames: ['route', 'method', 'status'],
  });
  private readonly errors = new Counter({
    ...this.named('refusals_total', 'Responses with an Error body, by its code.'),
    labelNames: ['code'],
  });
  private readonly closed = new Counter({
    ...this.named('http_connections_shed_total', 'New connections closed at MAX_CONNECTIONS (refused).'),
    labelNames: ['outcome'],
  });
  private readonly bans = new Counter(this.named('bans_total', 'Bans of API keys.'));

  constructor(
    { driver }: DataSource,
    { server }: FastifyInstance,
    { droppedLines }: Logger,
    limits: { readonly isShared: boolean },
  ) {
    collectDefaultMetrics({ register: this.registry, prefix: PREFIX });
    for (const metric of this.registry.getMetricsAsArray())
      metric.aggregator = OF_WORKERS[metric.aggregator] ?? metric.aggregator;
    // Prometheus sees no increase in the first value of a series.
    this.errors.inc({ code: commonErrors.internal_error.code }, 0);
    this.closed.inc({ outcome: 'refused' }, 0);
    server.on('drop', () => this.closed.inc({ outcome: 'refused' }));
    // TypeORM's type does not show its pool.
    const pool = 'master' in driver && driver.master instanceof Pool ? driver.master : new Pool();
    const connections: Gauge<'state'> = new Gauge({
      ...this.named('database_pool_connections', 'Open database connections by state: in_use or idle.'),
      labelNames: ['state'],
      collect: () => {
        connections.set({ state: 'in_use' }, pool.totalCount - pool.idleCount);
        connections.set({ state: 'idle' }, pool.idleCount);
      },
    });
    const waiting = 'Queries and transactions that wait for a database connection.';
    this.gauge('database_pool_waiting_requests', waiting, () => pool.waitingCount);
    this.gauge('database_pool_size', 'Maximum number of connections in the pool.', () => pool.options.max);
    const shared = '1 if Redis shares the rate-limit counters, 0 if this instance counts separately.';
    this.gauge('rate_limit_shared', shared, () => Number(limits.isShared), 'min');
    const dropped: Counter = new Counter({
      ...this.named('log_lines_dropped_total', 'Log lines that standard output could not take.'),
      collect: () => {
        dropped.reset();
        dropped.inc(droppedLines());
      },
    });
  }

  /** Counts an error by its code; called directly if no route saw the request (invalid HTTP, a timeout). */
  countRejection(code: string): void {
    this.errors.inc({ code });
  }

  /**
   * Records every request, and serves the metrics and the health checks on METRICS_PORT, where a connection waits for none
   * of the clients. The port opens before the service accepts requests, and closes after the last response. The primary
   * process adds those of its workers.
   */
  serve(
    fastify: FastifyInstance,
    ofExtensions: Registry,
    { metricsHost: host, metricsPort: port = 0, requestTimeoutMs: requestTimeout }: Config,
    workers?: { readonly metrics: (own: readonly object[]) => Promise<Registry> },
  ): void {
    fastify.addHook('onResponse', (request, reply, done) => {
      const { errorCode, rateLimit, routeOptions } = request;
      const route = (!routeOptions.config.unrouted && routeOptions.url) || 'none';
      const method = NAMED_METHODS.has(request.method) ? request.method : 'other';
      this.durations.observe({ route, method, status: reply.statusCode }, reply.elapsedTime / 1_000);
      if (errorCode !== undefined) this.countRejection(errorCode);
      if (rateLimit?.beganBan) this.bans.inc();
      done();
    });
    const registries = [this.registry, ofExtensions];
    const read = async () =>
      (await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))).flat();
    if (isWorker()) {
      // Each message of the primary process asks for them.
      process.on('message', () => void read().then((metrics) => process.send?.({ metrics })));
      return;
    }
    // It serves no request, so it does not see that Redis is back.
    const readOfPrimary = async () =>
      (await read()).filter(({ name }) => name !== `${PREFIX}rate_limit_shared`);
    const server = createServer({ forceCloseConnections: true, rewriteUrl: rewriteTarget, requestTimeout });
    server.get('/metrics', async (_request, reply) => {
      const registry = workers ? await workers.metrics(await readOfPrimary()) : Registry.merge(registries);
      reply.type(registry.contentType);
      return registry.metrics();
    });
    // Before a body is read. The public listener checks the health.
    server.addHook('onRequest', ({ is404, raw, url }, reply, done) => {
      if (!is404) return done();
      if (!/^\/(live|ready)z(\?|$)/.test(url)) return void sendError(reply, commonErrors.route_not_found());
      reply.hijack();
      fastify.routing(raw, reply.raw);
    });
    server.setErrorHandler((error, _request, reply) => {
      fastify.log.error({ err: error }, 'metrics failed');
      return sendError(reply, commonErrors.internal_error());
    });
    fastify
      .addHook('onReady', async () => {
        const url = await server.listen({ host, port }).catch((error: unknown) => {
          throw listenError(error, 'METRICS_');
        });
        fastify.log.info(`Metrics are at ${url}/metrics`);
      })
      .addHook('onClose', () => server.close());
  }

  /** Adds a value that each scrape reads. */
  private gauge(name: string, help: string, read: () => number, aggregator: Aggregator = 'sum'): void {
    const gauge: Gauge = new Gauge({
      ...this.named(name, help),
      aggregator,
      collect: () => gauge.set(read()),
    });
  }

  private named(name: string, help: string) {
    return { name: `${PREFIX}${name}`, help, registers: [this.registry] };
  }
}
