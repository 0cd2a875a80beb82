import 'reflect-metadata';
import { format } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { FastifyServerFactoryHandler } from 'fastify';
import { Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { planTable } from '../auth';
import { requireTriggers } from './database-checks.repository';
import type { DatabaseConfig } from '../database/data-source';
import { Sql } from '../database/sql';
import { commonErrors } from '../api/errors/common.errors';
import { StoreScopes } from '../api/extension/extension';
import type { Logger } from '../http/logger';
import { type Clock, SystemClock } from '../time/clock';
import { SECOND_MS } from '../time/time';
import { EventTypeRegistry } from '../events';
import { PetHolds } from '../pets';
import { RateLimitStore, ThrottleGuard } from '../rate-limit';
import { guardFraming, rewriteTarget } from '../http/framing';
import { Connections } from '../http/connections';
import { readJsonBodies } from '../http/json-body.guard';
import { Metrics } from '../http/metrics';
import { OpenApiDocument } from '../api/openapi/document';
import { servePages } from '../http/pages/pages';
import { compilersOf } from '../api/openapi/compilers';
import { rejectInvalidHttp } from '../http/protocol-errors';
import { logOptions } from '../http/request-log';
import { installResponseHeaders } from '../http/response-headers';
import { RouteMethods } from '../http/route-methods';
import { StrictHandling } from '../http/strict-handling';
import type { Workers } from './workers';
import { AppModule, VERSIONING } from './app.module';
import type { Store } from './store';

/** Then the start is over: the document takes a turn of 50 ms. */
const QUIET_MS = 2 * SECOND_MS;

/** Builds the application, ready to listen. The database must be migrated. @throws UserError */
export async function createApp(
  config: DatabaseConfig,
  logger: Logger,
  store: Store,
  clock: Clock = new SystemClock(),
  workers?: Workers,
): Promise<NestFastifyApplication> {
  const connections = new Connections(logger);
  // At its first use: to make it takes a twentieth of a start.
  let made: OpenApiDocument | undefined;
  const errorsOfTeams = () => [...store.errors, ...app.get(PetHolds, { strict: false }).errors()];
  const document = (): OpenApiDocument =>
    (made ??= OpenApiDocument.create(app, config, store, errorsOfTeams(), planTable()));
  const adapter = new FastifyAdapter({
    serverFactory: (handler: FastifyServerFactoryHandler) => connections.createServer(config, handler),
    // protocol-errors.ts has its own handler; Fastify's would run in addition.
    clientErrorHandler: () => undefined,
    ...logOptions(logger),
    schemaController: { compilersFactory: compilersOf(document, !store.isExtended) },
    rewriteUrl: rewriteTarget,
    // Fastify would reject longer ones without hooks. framing.ts rejects long URLs.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // During a stop, requests on open connections are served, each with `Connection: close`.
    return503OnClosing: false,
  });
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock, store, connections),
    adapter,
    { logger: nestLogger(logger), bodyParser: false, abortOnError: false },
  );
  await assemble(app, config, logger, store, document, workers).catch(async (error: unknown) => {
    // Background work, such as saving counters, has started.
    await app.close();
    throw error;
  });
  return app;
}

/** Adds the hooks and routes around the modules, in the order in which a request passes them. */
async function assemble(
  app: NestFastifyApplication,
  config: DatabaseConfig,
  logger: Logger,
  store: Store,
  document: () => OpenApiDocument,
  workers: Workers | undefined,
) {
  const fastify = app.getHttpAdapter().getInstance();
  const limits = app.get(ThrottleGuard);
  const connections = app.get(Connections);
  fastify.addHook('preClose', () => connections.emptyBacklog());
  app.enableVersioning(VERSIONING);
  guardFraming(app, config.corsOrigins);
  installResponseHeaders(fastify, connections, config.publicBaseUrl, limits);
  readJsonBodies(app, config, new StrictHandling(() => document().content));
  let metrics: Metrics | undefined;
  if (config.metricsPort !== undefined) {
    const source = app.get<DataSource>(getDataSourceToken());
    metrics = new Metrics(source, fastify, logger, app.get(RateLimitStore));
    metrics.serve(fastify, app.get(Registry), config, workers);
  }
  rejectInvalidHttp(fastify, connections, limits, app.get(RouteMethods), metrics);
  fastify.addHook('onRoute', (route) => app.get(StoreScopes).check(route));
  const sql = app.get(Sql, { strict: false });
  app.get(EventTypeRegistry, { strict: false }).declare(store.events);
  await requireTriggers(sql);
  await app.init();
  // The mistakes of a team end the start. Our own document is tested, and made before a request needs it.
  let timer: NodeJS.Timeout | undefined;
  if (store.isExtended) document();
  else fastify.addHook('onListen', async () => void (timer = setTimeout(document, QUIET_MS).unref()));
  fastify.addHook('onClose', async () => clearTimeout(timer));
  // The log of probes has only warnings.
  fastify.get('/livez', { config: { public: true }, logLevel: 'warn' }, () => ({ status: 'ok' }));
  fastify.get('/readyz', { config: { public: true }, logLevel: 'warn' }, async () => {
    if (!(workers ?? fastify.server).listening) throw commonErrors.service_unavailable();
    await sql.ping(() => requireTriggers(sql));
    return { status: 'ok' };
  });
  servePages(fastify, config, document);
}

/** Passes Nest's own messages to our logger; messages of a normal start have the level debug. */
function nestLogger(logger: Logger): LoggerService {
  const write = (level: 'trace' | 'debug' | 'warn') => (message: unknown, context?: unknown) =>
    logger[level]({ context }, format(message));
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('trace'),
    warn: write('warn'),
    error: (message: unknown, ...details: unknown[]) =>
      logger.error({ err: message instanceof Error ? message : undefined, details }, format(message)),
  };
}
