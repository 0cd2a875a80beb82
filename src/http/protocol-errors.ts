import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type ApiError, JSON_TYPE } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import type { ThrottleGuard } from '../rate-limit';
import type { Connections } from './connections';
import type { Metrics } from './metrics';
import type { RouteMethods } from './route-methods';

/** Rejects requests that Fastify never gets: invalid HTTP, requests that are too slow, CONNECT. */
export function rejectInvalidHttp(
  { log, server }: FastifyInstance,
  connections: Connections,
  limits: ThrottleGuard,
  methods: RouteMethods,
  metrics: Metrics | undefined,
): void {
  /** @param cause a code of Node's HTTP parser or of its timers, or CONNECT */
  const reject = (socket: Socket, error: ApiError, cause: string): void =>
    connections.reject(socket, error, () => {
      const { remoteAddress: ip } = socket;
      const reqId = randomUUID();
      metrics?.countRejection(error.code);
      log.info({ reqId, status: error.getStatus(), code: error.code, ip, cause }, 'request');
      return print(error, { ...limits.headersOf(ip, ip), ...error.headers, 'X-Request-Id': reqId });
    });
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    if (code === 'ECONNRESET') socket.destroy();
    else reject(socket, errorOf(code), code);
  });
  // The service is not a proxy.
  server.on('connect', (_request, socket: Socket) => {
    // Node has removed its own listeners. A response that is being sent would need them.
    socket.on('error', () => socket.destroy());
    const headers = { Allow: methods.served().join(', ') };
    if (connections.isIdle(socket)) reject(socket, commonErrors.method_not_allowed({ headers }), 'CONNECT');
    else socket.destroy();
  });
}

function errorOf(code: string): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return commonErrors.request_timeout();
  if (code === 'HPE_HEADER_OVERFLOW') return commonErrors.headers_too_large();
  return commonErrors.malformed_request();
}

/** Prints the last response of a connection: bytes after invalid framing cannot be trusted (RFC 9112, 11.2). */
function print(error: ApiError, headers: Readonly<Record<string, string>>): string {
  const status = error.getStatus();
  const all = {
    ...headers,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Date: new Date().toUTCString(),
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(error.body),
    Connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${error.body}`;
}
