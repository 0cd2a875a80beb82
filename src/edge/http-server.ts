import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections';
import type { ProtocolErrors } from './protocol-errors';

/** The settings of a listener. */
export interface ServerLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
}

/** How often Node looks for slow clients, at least. */
const MAX_TIMEOUT_CHECK_INTERVAL_MS = 1_000;

/** Request line and headers together; beyond it Node's parser stops, and the answer is 431. */
const HEAD_LIMIT_BYTES = 16_384;

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Node's HTTP server, with every answer that it would give by itself handed to the service. */
export function createHttpServer(
  handler: Handler,
  limits: ServerLimits,
  connections: Connections,
  protocolErrors: ProtocolErrors,
): Server {
  // Node refuses a longer one; the headers are part of the request.
  const headersTimeout = Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs);
  const server = createServer(
    {
      headersTimeout,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(MAX_TIMEOUT_CHECK_INTERVAL_MS, headersTimeout),
      maxHeaderSize: HEAD_LIMIT_BYTES,
      insecureHTTPParser: false,
      // Judged in framing.ts, where the refusal gets the Error body.
      requireHostHeader: false,
    },
    (request, response) => {
      if (connections.begin(request, response)) handler(request, response);
    },
  );
  // A client that has ended its side after the request still gets the answer; not in Node's documentation.
  Object.assign(server, { httpAllowHalfOpen: true });
  connections.follow(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    protocolErrors.answer(error, socket),
  );
  server.on('connect', (_request: IncomingMessage, socket: Socket) => protocolErrors.refuseConnect(socket));
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) =>
      server.emit('request', request, response),
    );
  }
  return server;
}
