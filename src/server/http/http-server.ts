import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Config } from '../../platform/config/config';
import type { Connections } from './connections';
import type { Logger } from '../logging/logger';
import { SECOND_MS } from '../../platform/runtime/time';
import { requestId, type RequestLog } from '../logging/request-log';
import { rewriteTarget } from './framing';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** If for so long nothing is received or sent, a connection is destroyed. It exceeds the wait for the database. */
const INACTIVITY_TIMEOUT_MS = 30_000;

/** Request line and headers together; if they are longer, the response is 431. */
const MAX_HEAD_BYTES = 16_384;

/** Creates Nest's adapter of Fastify, with our HTTP server, log line and request id. */
export function createAdapter(
  config: Config,
  logger: Logger,
  connections: Connections,
  requestLog: RequestLog,
): FastifyAdapter {
  return new FastifyAdapter({
    serverFactory: (handler: Handler) => createHttpServer(handler, config, connections),
    // `ProtocolErrors` has its own handler; Fastify's would run in addition.
    clientErrorHandler: () => undefined,
    loggerInstance: logger,
    logController: requestLog,
    genReqId: requestId,
    rewriteUrl: rewriteTarget,
    // Fastify would reject longer ones without hooks. framing.ts rejects long URLs.
    routerOptions: { maxParamLength: MAX_HEAD_BYTES },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // During a stop, requests on open connections are served, each with `Connection: close`.
    return503OnClosing: false,
  });
}

function createHttpServer(handler: Handler, config: Config, connections: Connections): Server {
  // Node throws if the timeout of the headers exceeds the timeout of the request.
  const headersTimeout = Math.min(config.headersTimeoutMs, config.requestTimeoutMs);
  const server = createServer({
    headersTimeout,
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(SECOND_MS, headersTimeout),
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
    // framing.ts checks it, so that the response has the Error body.
    requireHostHeader: false,
  });
  server.timeout = INACTIVITY_TIMEOUT_MS;
  server.maxConnections = config.maxConnections;
  // A client that has closed its side after the request still gets the response. Node documents no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  connections.follow(server, handler);
  return server;
}
