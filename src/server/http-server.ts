import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections, Handler } from './connections';
import type { ProtocolErrors } from './protocol-errors';

/** The settings of a listener. */
export interface ServerLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
}

/** The longest interval at which Node looks for slow clients. */
const MAX_TIMEOUT_CHECK_INTERVAL_MS = 1_000;

/**
 * A connection is destroyed if for so long nothing was received or sent: its client reads nothing, or its response is
 * never completed. It exceeds the longest wait for the database.
 */
const INACTIVITY_TIMEOUT_MS = 30_000;

/** Request line and headers together; if they are longer, the response is 431. */
const MAX_HEAD_BYTES = 16_384;

/** Creates Node's HTTP server. The service replaces each response that Node would send without a handler. */
export function createHttpServer(
  handler: Handler,
  limits: ServerLimits,
  connections: Connections,
  protocolErrors: ProtocolErrors,
): Server {
  // Node throws if the timeout of the headers is longer than that of the request.
  const headersTimeout = Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs);
  const server = createServer({
    headersTimeout,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(MAX_TIMEOUT_CHECK_INTERVAL_MS, headersTimeout),
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
    // framing.ts checks it, so that the response has the Error body.
    requireHostHeader: false,
  });
  server.timeout = INACTIVITY_TIMEOUT_MS;
  server.maxConnections = limits.maxConnections;
  // A client that has closed its side after the request still gets the response. Node documents no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  connections.follow(server);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) =>
      connections.receive(request, response, handler),
    );
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    protocolErrors.handle(error, socket),
  );
  server.on('connect', (request: IncomingMessage, socket: Socket) =>
    protocolErrors.rejectConnect(request, socket),
  );
  return server;
}
