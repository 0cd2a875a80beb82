import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Config } from '../platform/config/config';
import { type Connections, createHttpServer, type Handler } from './http-server';
import type { ProtocolErrors } from './protocol-errors';
import { requestId, type RequestLog } from './request-log';
import { rewriteTarget, TARGET_LIMIT_BYTES } from './target';
import type { Logger } from '../platform/logging/logger';

/** Creates Nest's adapter of Fastify, with our HTTP server, log line and request id. */
export function createAdapter(
  config: Config,
  logger: Logger,
  connections: Connections,
  protocolErrors: ProtocolErrors,
  requestLog: RequestLog,
): FastifyAdapter {
  return new FastifyAdapter({
    serverFactory: (handler: Handler) => createHttpServer(handler, config, connections, protocolErrors),
    // `createHttpServer` has its own handler; Fastify's would run in addition.
    clientErrorHandler: () => undefined,
    loggerInstance: logger,
    logController: requestLog,
    genReqId: requestId,
    rewriteUrl: rewriteTarget,
    routerOptions: { maxParamLength: TARGET_LIMIT_BYTES },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // During a stop, requests on open connections are served, each with `Connection: close`.
    return503OnClosing: false,
  });
}
