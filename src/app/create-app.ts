import 'reflect-metadata';
import { type LoggerService, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule, type ServiceConfig } from './app.module';
import { createAdapter } from '../server/create-adapter';
import { planTable } from '../accounts';
import { type Clock, SystemClock } from '../platform/runtime/clock';
import { leaveBodiesUnread } from '../server/json-body.guard';
import { Connections } from '../server/http-server';
import { enableCors } from '../server/cors';
import { RequestLog } from '../server/request-log';
import { guardFraming } from '../server/framing';
import { ProtocolErrors, type RejectionHooks } from '../server/protocol-errors';
import { installResponseHeaders } from '../server/response-headers';
import { RouteMethods } from '../server/route-methods';
import { problemPages } from '../platform/errors/problem-details';
import type { Logger } from '../platform/logging/logger';
import { installMetrics } from '../server/metrics/metrics.module';
import { RequestMetrics } from '../server/metrics/request-metrics';
import { codesOf } from '../server/openapi/codes';
import { createDocument } from '../server/openapi/document';
import { serveDocument, serveFrontPage, serveProblemPages, serveSwaggerUi } from '../server/openapi/pages';
import { addResponseSchemas } from '../server/openapi/schemas';
import { RateLimitStore, ThrottleGuard } from '../rate-limit';
import { collectRoutes } from './start-checks/declared-routes';
import type { Store } from './store';

/**
 * Builds the application, ready to listen. The database must be migrated.
 *
 * @throws UserError
 */
export async function createApp(
  config: ServiceConfig,
  logger: Logger,
  store: Store,
  clock: Clock = new SystemClock(),
): Promise<NestFastifyApplication> {
  const connections = new Connections(logger);
  const pages = problemPages(config.publicBaseUrl);
  const requestLog = new RequestLog(logger, clock);
  // The adapter exists before the modules that provide these functions; requests arrive later.
  const hooks: RejectionHooks = {
    limitHeaders: (address) => app.get(ThrottleGuard).headersOf(address, address),
    count: (code) => {
      if (config.metricsPort !== undefined) app.get(RequestMetrics).countRejection(code);
    },
    servedMethods: () => app.get(RouteMethods).served(),
  };
  const errors = new ProtocolErrors(connections, hooks, logger, pages, config.requestTimeoutMs);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock, store),
    createAdapter(config, logger, connections, errors, requestLog),
    { logger: nestLogger(logger), bodyParser: false, abortOnError: false },
  );
  const fastify = app.getHttpAdapter().getInstance();
  fastify.decorate('problemPages', pages);
  requestLog.writeSums(fastify);
  try {
    await assemble(app, config, store, connections, logger);
  } catch (error) {
    // Background work, such as saving counters, has started.
    await app.close();
    throw error;
  }
  return app;
}

/** Adds the hooks and routes around the modules, in the order in which a request passes them. */
async function assemble(
  app: NestFastifyApplication,
  config: ServiceConfig,
  store: Store,
  connections: Connections,
  logger: Logger,
): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.decorate('connections', connections);
  app.enableVersioning({ type: VersioningType.URI });
  guardFraming(fastify);
  enableCors(app, config.corsOrigins, app.get(RouteMethods));
  const limits = app.get(ThrottleGuard);
  installResponseHeaders(fastify, {
    baseUrl: config.publicBaseUrl,
    connections,
    limitHeaders: ({ ip, socket }) => limits.headersOf(ip, socket.remoteAddress),
  });
  leaveBodiesUnread(fastify);
  if (config.metricsPort !== undefined) {
    const limitStore = app.get(RateLimitStore);
    const { droppedLines } = logger;
    installMetrics(app, { isLimitShared: () => limitStore.isShared, connections, droppedLines });
  }
  const requireDeclaredRoutes = collectRoutes(fastify, store.scopes);
  await app.init();
  const document = createDocument(app, config, store, planTable());
  addResponseSchemas(fastify, document);
  serveDocument(fastify, document);
  const codes = codesOf(document.paths, store.errors);
  serveProblemPages(fastify, config, codes);
  if (config.docsEnabled) {
    serveFrontPage(fastify, config, document);
    serveSwaggerUi(fastify, document, codes);
  }
  requireDeclaredRoutes();
}

/** Passes Nest's own messages to our logger; messages of a normal start have the level debug. */
function nestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'trace' | 'debug' | 'warn' | 'fatal') =>
    (message: unknown, context?: unknown): void =>
      logger[level]({ context }, String(message));
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('trace'),
    warn: write('warn'),
    fatal: write('fatal'),
    error: (message: unknown, ...details: unknown[]) =>
      logger.error({ err: message instanceof Error ? message : undefined, details }, String(message)),
  };
}
