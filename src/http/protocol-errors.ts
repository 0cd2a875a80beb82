import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type ApiError, JSON_TYPE } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { closeInStages, type Connection, type Connections } from './connections';
import type { Metrics } from './metrics';
import { REQUEST } from './request-log';
import { CONSTANT_HEADERS, type LimitHeaders } from './response-headers';
import type { RouteMethods } from './route-methods';

/** Responds to requests that Fastify never gets: invalid HTTP, requests that are too slow, CONNECT. */
export class ProtocolErrors {
  constructor(
    private readonly log: FastifyBaseLogger,
    private readonly connections: Connections,
    private readonly limitHeaders: LimitHeaders,
    private readonly methods: RouteMethods,
    private readonly metrics: Metrics | undefined,
  ) {}

  follow(server: Server): void {
    server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
      const connection = this.connections.bySocket.get(socket);
      if (code === 'ECONNRESET' || !connection) socket.destroy();
      else this.reject(connection, code);
    });
    // The service is not a proxy.
    server.on('connect', (_request, socket: Socket) => {
      // Node has removed its own listeners. A response that is being sent would need them.
      socket.on('error', () => socket.destroy());
      const connection = this.connections.bySocket.get(socket);
      if (connection?.tasks.length === 0) this.reject(connection, 'CONNECT');
      else socket.destroy();
    });
  }

  /**
   * Rejects what arrives on a connection. If the body of a request is broken, the response to that request is the error.
   * The earlier requests get their responses first. Then the service closes the connection.
   */
  private reject(connection: Connection, cause = ''): void {
    const { latest, socket, hasFailed } = connection;
    // The parser repeats its error for each further chunk.
    if (hasFailed) return;
    connection.hasFailed = true;
    const error = this.errorOf(cause);
    const isBody = latest?.complete === false;
    // The reading of the body fails, now or later. A response that does not need the body stays.
    if (isBody) latest.bodyError = error;
    // Without a listener the event would be an uncaught exception.
    if (isBody && latest.listenerCount('error') > 0) latest.emit('error', error);
    this.connections.add(connection, () =>
      closeInStages(socket, isBody ? '' : this.responseOf(error, socket, cause)),
    );
  }

  /** @param cause a code of Node's HTTP parser or of its timers, or CONNECT */
  private errorOf(cause: string): ApiError {
    if (cause === 'CONNECT')
      return commonErrors.method_not_allowed({ headers: { Allow: this.methods.served().join(', ') } });
    if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') return commonErrors.request_timeout();
    if (cause === 'HPE_HEADER_OVERFLOW') return commonErrors.headers_too_large();
    return commonErrors.malformed_request();
  }

  /** Prints, counts and logs the last response: bytes after invalid framing cannot be trusted (RFC 9112, 11.2). */
  private responseOf(error: ApiError, socket: Socket, cause: string): string {
    const { code, body } = error;
    const status = error.getStatus();
    const { remoteAddress: ip } = socket;
    const reqId = randomUUID();
    this.metrics?.countRejection(code);
    this.log.info({ reqId, status, code, ip, cause }, REQUEST);
    const headers = {
      ...CONSTANT_HEADERS,
      ...this.limitHeaders(ip, ip),
      ...error.headers,
      'X-Request-Id': reqId,
      'Cache-Control': 'no-store',
      Date: new Date().toUTCString(),
      'Content-Type': JSON_TYPE,
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
  }
}
