import 'reflect-metadata';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule, type ServiceConfig } from './app.module';
import { createAdapter } from './create-adapter';
import { planTable } from '../accounts';
import { AuthChecks } from '../auth';
import { type Clock, SystemClock } from '../platform/runtime/clock';
import { useJsonBodies } from '../platform/edge/body';
import { Connections } from '../platform/edge/http1/connections';
import { sendContinue } from '../platform/edge/http1/continue';
import { enableCors } from '../platform/edge/cors';
import { installRequestChecks } from '../platform/edge/request-checks';
import { guardFraming } from '../platform/edge/http1/framing';
import { RouteMethods } from '../platform/edge/methods';
import { ProtocolErrors, type RejectionHooks } from '../platform/edge/http1/protocol-errors';
import { installResponseHeaders } from '../platform/edge/common-headers';
import { installEntityTags } from '../platform/edge/entity-tags';
import { installRequestSpans } from '../platform/edge/request-spans';
import { requireDecodablePath, requireRoute, requireShortTarget } from '../platform/edge/route-checks';
import { problemPages } from '../platform/errors/problem-details';
import type { Logger } from '../platform/logging/logger';
import { NestLogger } from '../platform/logging/nest-logger';
import { installMetrics } from '../platform/metrics/install-metrics';
import { codesOf } from '../platform/openapi/codes';
import { tracer } from '../platform/tracing/tracer';
import { createDocument } from '../platform/openapi/document';
import { serveFrontPage } from '../platform/openapi/front-page';
import { addResponseSchemas } from '../platform/openapi/response-schemas';
import { serveProblemPages } from '../platform/openapi/problem-pages';
import { serveDocument } from '../platform/openapi/serve-document';
import { serveSwaggerUi } from '../platform/openapi/swagger-ui';
import { installLimitHeaders, RateLimitCheck, RateLimitStore, RouteLimits } from '../rate-limit';
import { checkModules } from './start-checks/check-modules';
import { collectRoutes } from './start-checks/declared-routes';
import { handlersOf } from './start-checks/handlers';
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
  const connections = new Connections(config, logger);
  // Replaced in `assemble`: the adapter exists before the modules that provide these functions.
  const hooks: RejectionHooks = {
    limitHeaders: () => ({}),
    count: () => undefined,
    servedMethods: () => [],
  };
  const pages = problemPages(config.publicBaseUrl);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock, store),
    createAdapter(config, logger, connections, new ProtocolErrors(connections, hooks, logger, pages)),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  try {
    await assemble(app, config, store, connections, hooks, logger);
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
  hooks: RejectionHooks,
  logger: Logger,
): Promise<void> {
  const limit = app.get(RateLimitCheck);
  hooks.limitHeaders = (address) => limit.headersOf(address, address);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.decorate('connections', connections);
  fastify.decorate('problemPages', problemPages(config.publicBaseUrl));
  app.enableVersioning({ type: VersioningType.URI });
  if (tracer) installRequestSpans(fastify, tracer);
  guardFraming(fastify, connections);
  const methods = new RouteMethods(fastify);
  hooks.servedMethods = () => methods.served();
  enableCors(app, config.corsOrigins, methods);
  installResponseHeaders(fastify, config.publicBaseUrl);
  installEntityTags(fastify);
  installLimitHeaders(fastify, limit);
  installChecks(fastify, app.get(AuthChecks), limit, store.checks);
  useJsonBodies(fastify, config.bodyLimitBytes);
  sendContinue(fastify, config.bodyLimitBytes);
  if (config.metricsPort !== undefined) {
    const limitStore = app.get(RateLimitStore);
    const { droppedLines } = logger;
    hooks.count = installMetrics(app, {
      isLimitShared: () => limitStore.isShared,
      connections,
      droppedLines,
    });
  }
  const requireDeclaredRoutes = collectRoutes(fastify, store.scopes);
  await app.init();
  const document = createDocument(app, config, store, planTable());
  addResponseSchemas(fastify, document);
  serveDocument(fastify, document);
  serveProblemPages(fastify, document, codesOf(document.paths, store.errors));
  if (config.docsEnabled) {
    serveFrontPage(fastify, config);
    serveSwaggerUi(fastify, document);
  }
  methods.rejectOthers();
  requireDeclaredRoutes();
  const handlers = handlersOf(app);
  checkModules(app, handlers);
  app.get(RouteLimits).read(handlers);
}

/** Installs the request checks in the order that the API promises. */
function installChecks(
  fastify: FastifyInstance,
  auth: AuthChecks,
  limit: RateLimitCheck,
  added: Store['checks'],
): void {
  installRequestChecks(fastify, [
    requireShortTarget,
    (request) => auth.identify(request),
    (request, reply) => limit.check(request, reply),
    (request) => auth.requireKey(request),
    requireDecodablePath,
    requireRoute,
    (request) => auth.requireScope(request),
    ...added,
  ]);
}
