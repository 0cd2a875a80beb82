import 'reflect-metadata';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { AppModule, type ServiceConfig } from './app.module';
import { AuthGuard } from './auth';
import { type Clock, SystemClock } from './clock';
import { useJsonBodies } from './edge/body';
import { enableCors } from './edge/cors';
import { installDoor } from './edge/door';
import { collectMethods } from './edge/methods';
import { answerProtocolError } from './edge/protocol-errors';
import { requestId } from './edge/request-id';
import { RequestLog } from './edge/request-log';
import { installResponseHeaders } from './edge/response-headers';
import { requireDecodablePath, requireRoute, requireShortTarget } from './edge/route-checks';
import { rewriteTarget, TARGET_LIMIT_BYTES } from './edge/target';
import type { Logger } from './logging/logger';
import { NestLogger } from './logging/nest-logger';
import { addSharedLimit } from './metrics/registry';
import { recordRequests, RequestMetrics } from './metrics/request-metrics';
import { createDocument } from './openapi/document';
import { addResponseSchemas } from './openapi/response-schemas';
import { serveDocument } from './openapi/serve-document';
import { RateLimitGuard, RateLimitStore } from './rate-limit';

/** The limit's headers for a response that is charged to nobody, by the client's address. */
type LimitHeaders = (address: string | undefined) => Record<string, string>;

const noHeaders: LimitHeaders = () => ({});

/** How often Node looks for slow clients. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;

/** The whole application, ready to listen; its database must be migrated. */
export async function createApp(
  config: ServiceConfig,
  logger: Logger,
  clock: Clock = new SystemClock(),
): Promise<NestFastifyApplication> {
  // The adapter comes before the modules, and no request before both.
  let limitHeaders = noHeaders;
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock),
    createAdapter(config, logger, (address) => limitHeaders(address)),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  const limit = app.get(RateLimitGuard);
  limitHeaders = (address) => limit.headersOf(address, address);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.server.maxConnections = config.maxConnections;
  // Node would drop headers beyond 2,000 unseen, a second Authorization among them; their size is bounded anyway.
  fastify.server.maxHeadersCount = 0;
  app.enableVersioning({ type: VersioningType.URI });
  enableCors(app, config.corsOrigins);
  installResponseHeaders(fastify, config.publicBaseUrl);
  showLimits(fastify, limit);
  openTheDoor(fastify, app.get(AuthGuard), limit);
  useJsonBodies(fastify, config.bodyLimitBytes);
  if (config.metricsPort !== undefined) measure(app);
  const refuseOtherMethods = collectMethods(fastify);
  await app.init();
  const document = createDocument(app, config);
  addResponseSchemas(fastify, document);
  serveDocument(app, document);
  refuseOtherMethods();
  return app;
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

function measure(app: NestFastifyApplication): void {
  const store = app.get(RateLimitStore);
  recordRequests(app.getHttpAdapter().getInstance(), app.get(RequestMetrics));
  addSharedLimit(app.get(Registry), () => store.isShared);
}

function createAdapter(config: ServiceConfig, logger: Logger, limitHeaders: LimitHeaders): FastifyAdapter {
  return new FastifyAdapter({
    loggerInstance: logger,
    logController: new RequestLog(),
    genReqId: requestId,
    rewriteUrl: rewriteTarget,
    routerOptions: { maxParamLength: TARGET_LIMIT_BYTES },
    clientErrorHandler: (error, socket) =>
      answerProtocolError(error, socket, limitHeaders(socket.remoteAddress)),
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    requestTimeout: config.requestTimeoutMs,
    http: {
      headersTimeout: config.headersTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    },
    // While closing, requests on connections that are still open are answered, each with `Connection: close`.
    return503OnClosing: false,
  });
}
