import 'reflect-metadata';
import { type Type, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule, type ServiceConfig } from './app.module';
import { planTable } from '../accounts';
import { AuthChecks } from '../auth';
import { type Clock, SystemClock } from '../platform/runtime/clock';
import { Adapter } from '../platform/edge/adapter';
import { useJsonBodies } from '../platform/edge/body';
import { Connections } from '../platform/edge/http1/connections';
import { sendContinue } from '../platform/edge/http1/continue';
import { enableCors } from '../platform/edge/cors';
import { installRequestChecks } from '../platform/edge/request-checks';
import { guardFraming } from '../platform/edge/http1/framing';
import { createHttpServer, type Handler } from '../platform/edge/http1/http-server';
import { RouteMethods } from '../platform/edge/methods';
import { ProtocolErrors, type RejectionHooks } from '../platform/edge/http1/protocol-errors';
import { requestId } from '../platform/edge/request-id';
import { RequestLog } from '../platform/edge/request-log';
import { installResponseHeaders } from '../platform/edge/common-headers';
import { requireDecodablePath, requireRoute, requireShortTarget } from '../platform/edge/route-checks';
import { rewriteTarget, TARGET_LIMIT_BYTES } from '../platform/http/target';
import type { Logger } from '../platform/logging/logger';
import { NestLogger } from '../platform/logging/nest-logger';
import { installMetrics } from '../platform/metrics/install-metrics';
import { createDocument } from '../platform/openapi/document';
import { serveFrontPage } from '../platform/openapi/front-page';
import { addResponseSchemas } from '../platform/openapi/response-schemas';
import { serveDocument } from '../platform/openapi/serve-document';
import { serveSwaggerUi } from '../platform/openapi/swagger-ui';
import { installLimitHeaders, RateLimitCheck, RateLimitStore } from '../rate-limit';
import { checkModules } from './start-checks/check-modules';
import { collectRoutes } from './start-checks/declared-routes';

/**
 * Builds the application, ready to listen. The database must be migrated.
 *
 * @param modules a team's own, in addition to those of the store
 * @throws UserError
 */
export async function createApp(
  config: ServiceConfig,
  logger: Logger,
  clock: Clock = new SystemClock(),
  modules: readonly Type[] = [],
): Promise<NestFastifyApplication> {
  const connections = new Connections(config, logger);
  // Replaced in `assemble`: the adapter exists before the modules that provide these functions.
  const hooks: RejectionHooks = {
    limitHeaders: () => ({}),
    count: () => undefined,
    servedMethods: () => [],
  };
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock, modules),
    createAdapter(config, logger, connections, new ProtocolErrors(connections, hooks, logger)),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  try {
    await assemble(app, config, connections, hooks, logger);
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
  connections: Connections,
  hooks: RejectionHooks,
  logger: Logger,
): Promise<void> {
  const limit = app.get(RateLimitCheck);
  hooks.limitHeaders = (address) => limit.headersOf(address, address);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.decorate('connections', connections);
  app.enableVersioning({ type: VersioningType.URI });
  guardFraming(fastify, connections);
  const methods = new RouteMethods(fastify);
  hooks.servedMethods = () => methods.served();
  enableCors(app, config.corsOrigins, methods);
  installResponseHeaders(fastify, config.publicBaseUrl);
  installLimitHeaders(fastify, limit);
  installChecks(fastify, app.get(AuthChecks), limit);
  useJsonBodies(fastify, config.bodyLimitBytes);
  sendContinue(fastify, config.bodyLimitBytes);
  if (config.metricsPort !== undefined) {
    const store = app.get(RateLimitStore);
    const { droppedLines } = logger;
    hooks.count = installMetrics(app, { isLimitShared: () => store.isShared, connections, droppedLines });
  }
  const requireDeclaredRoutes = collectRoutes(fastify);
  await app.init();
  const document = createDocument(app, config, planTable());
  addResponseSchemas(fastify, document);
  serveDocument(fastify, document);
  if (config.docsEnabled) {
    serveFrontPage(fastify, config);
    serveSwaggerUi(fastify, document);
  }
  methods.rejectOthers();
  requireDeclaredRoutes();
  checkModules(app);
}

/** Installs the request checks in the order that the API promises. */
function installChecks(fastify: FastifyInstance, auth: AuthChecks, limit: RateLimitCheck): void {
  installRequestChecks(fastify, [
    requireShortTarget,
    (request) => auth.identify(request),
    (request, reply) => limit.check(request, reply),
    (request) => auth.requireKey(request),
    requireDecodablePath,
    requireRoute,
    (request) => auth.requireScope(request),
  ]);
}

function createAdapter(
  config: ServiceConfig,
  logger: Logger,
  connections: Connections,
  protocolErrors: ProtocolErrors,
): Adapter {
  return new Adapter({
    serverFactory: (handler: Handler) => createHttpServer(handler, config, connections, protocolErrors),
    // `createHttpServer` has its own handler; Fastify's would run in addition.
    clientErrorHandler: () => undefined,
    loggerInstance: logger,
    logController: new RequestLog(),
    genReqId: requestId,
    rewriteUrl: rewriteTarget,
    routerOptions: { maxParamLength: TARGET_LIMIT_BYTES },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // During a stop, requests on open connections are served, each with `Connection: close`.
    return503OnClosing: false,
  });
}
