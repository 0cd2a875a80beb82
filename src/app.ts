import 'reflect-metadata';
import { type Type, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { AppModule, type ServiceConfig } from './app.module';
import { AuthGuard } from './auth';
import { type Clock, SystemClock } from './clock';
import { Adapter } from './edge/adapter';
import { useJsonBodies } from './edge/body';
import { Connections } from './edge/connections';
import { inviteBodies } from './edge/continue';
import { enableCors } from './edge/cors';
import { installDoor } from './edge/door';
import { guardFraming } from './edge/framing';
import { createHttpServer, type Handler } from './edge/http-server';
import { collectMethods } from './edge/methods';
import { ProtocolErrors, type RefusalHooks } from './edge/protocol-errors';
import { requestId } from './edge/request-id';
import { RequestLog } from './edge/request-log';
import { installResponseHeaders } from './edge/response-headers';
import { requireDecodablePath, requireRoute, requireShortTarget } from './edge/route-checks';
import { rewriteTarget, TARGET_LIMIT_BYTES } from './edge/target';
import type { Logger } from './logging/logger';
import { NestLogger } from './logging/nest-logger';
import { addConnections, addDroppedLines, addSharedLimit } from './metrics/registry';
import { recordRequests, RequestMetrics } from './metrics/request-metrics';
import { createDocument } from './openapi/document';
import { serveFrontPage } from './openapi/front-page';
import { addResponseSchemas } from './openapi/response-schemas';
import { serveDocument } from './openapi/serve-document';
import { serveSwaggerUi } from './openapi/swagger-ui';
import { RateLimitGuard, RateLimitStore } from './rate-limit';
import { checkModules } from './start-checks/check-modules';
import { collectRoutes } from './start-checks/declared-routes';

/**
 * Builds the whole application, ready to listen. Its database must be migrated.
 *
 * @param modules a team's own, beside those of the store
 * @throws DeclarationError
 */
export async function createApp(
  config: ServiceConfig,
  logger: Logger,
  clock: Clock = new SystemClock(),
  modules: readonly Type[] = [],
): Promise<NestFastifyApplication> {
  const connections = new Connections(config, logger);
  // The adapter comes before the modules, and no request before both.
  const hooks: RefusalHooks = { limitHeaders: () => ({}), count: () => undefined };
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock, modules),
    createAdapter(config, logger, connections, new ProtocolErrors(connections, hooks, logger)),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  try {
    await assemble(app, config, connections, hooks, logger);
  } catch (error) {
    // It would count on.
    await app.close();
    throw error;
  }
  return app;
}

/** Adds what surrounds the modules, in the order in which a request meets it. */
async function assemble(
  app: NestFastifyApplication,
  config: ServiceConfig,
  connections: Connections,
  hooks: RefusalHooks,
  logger: Logger,
): Promise<void> {
  const limit = app.get(RateLimitGuard);
  hooks.limitHeaders = (address) => limit.headersOf(address, address);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.decorate('connections', connections);
  app.enableVersioning({ type: VersioningType.URI });
  guardFraming(fastify, connections);
  enableCors(app, config.corsOrigins);
  installResponseHeaders(fastify, config.publicBaseUrl);
  showLimits(fastify, limit);
  openTheDoor(fastify, app.get(AuthGuard), limit);
  useJsonBodies(fastify, config.bodyLimitBytes);
  inviteBodies(fastify, config.bodyLimitBytes);
  if (config.metricsPort !== undefined) hooks.count = measure(app, logger);
  const refuseOtherMethods = collectMethods(fastify);
  const requireDeclaredRoutes = collectRoutes(fastify);
  await app.init();
  const document = createDocument(app, config);
  addResponseSchemas(fastify, document);
  serveDocument(fastify, document);
  if (config.docsEnabled) {
    serveFrontPage(fastify, config);
    serveSwaggerUi(fastify, document);
  }
  refuseOtherMethods();
  requireDeclaredRoutes();
  checkModules(app);
}

/** The order of checks that the API promises. */
function openTheDoor(fastify: FastifyInstance, auth: AuthGuard, limit: RateLimitGuard): void {
  installDoor(fastify, [
    requireShortTarget,
    (request) => auth.identify(request),
    (request, reply) => limit.check(request, reply),
    (request) => auth.requireKey(request),
    requireDecodablePath,
    requireRoute,
    (request) => auth.requireScope(request),
  ]);
}

/** Every response says where its client stands; one that was charged to nobody shows the window of its address. */
function showLimits(fastify: FastifyInstance, limit: RateLimitGuard): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (!request.rateLimit) reply.headers(limit.headersOf(request.ip, request.socket.remoteAddress));
    done();
  });
}

/** @returns what counts a refusal that no route sees */
function measure(app: NestFastifyApplication, logger: Logger): RefusalHooks['count'] {
  const store = app.get(RateLimitStore);
  const metrics = app.get(RequestMetrics);
  recordRequests(app.getHttpAdapter().getInstance(), metrics);
  addSharedLimit(app.get(Registry), () => store.isShared);
  addConnections(app.get(Registry), app.getHttpAdapter().getInstance().connections);
  addDroppedLines(app.get(Registry), logger.droppedLines);
  return (code) => metrics.countRefusal(code);
}

function createAdapter(
  config: ServiceConfig,
  logger: Logger,
  connections: Connections,
  protocolErrors: ProtocolErrors,
): Adapter {
  return new Adapter({
    serverFactory: (handler: Handler) => createHttpServer(handler, config, connections, protocolErrors),
    // The server has its own; Fastify's would be a second one.
    clientErrorHandler: () => undefined,
    loggerInstance: logger,
    logController: new RequestLog(),
    genReqId: requestId,
    rewriteUrl: rewriteTarget,
    routerOptions: { maxParamLength: TARGET_LIMIT_BYTES },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // While closing, requests on connections that are still open are answered, each with `Connection: close`.
    return503OnClosing: false,
  });
}
