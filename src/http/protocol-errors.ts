import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type ApiError, JSON_TYPE } from '../api/errors/api-error';
import { methodNotAllowed, commonErrors } from '../api/errors/common.errors';
import { closeInStages, type Connection, type Connections } from './connections';
import type { Metrics } from './metrics';
import { REQUEST } from './request-log';
import { CONSTANT_HEADERS, type LimitHeaders } from './response-headers';
import type { RouteMethods } from './route-methods';

/** The errors of Node's HTTP parser and timers; others are malformed requests. */
const ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: commonErrors.headers_too_large,
  ERR_HTTP_REQUEST_TIMEOUT: commonErrors.request_timeout,
};

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
    server.on('connect', (_request, socket: Socket) => this.rejectConnect(socket));
  }

  /** Rejects CONNECT, because the service is not a proxy, and closes the connection. */
  private rejectConnect(socket: Socket): void {
    // Node has removed its own listeners. A response that is being sent would need them.
    socket.on('error', () => socket.destroy());
    const isQuiet = this.connections.bySocket.get(socket)?.tasks.length === 0;
    if (!isQuiet) socket.destroy();
    else
      closeInStages(
        socket,
        this.responseOf(methodNotAllowed(this.methods.served().join(', ')), socket, 'CONNECT'),
      );
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
    const error = (ERRORS[cause] ?? commonErrors.malformed_request)();
    const isBody = latest?.complete === false;
    // The reading of the body fails, now or later. A response that does not need the body stays.
    if (isBody) latest.bodyError = error;
    // Without a listener the event would be an uncaught exception.
    if (isBody && latest.listenerCount('error') > 0) latest.emit('error', error);
    this.connections.add(connection, () =>
      closeInStages(socket, isBody ? '' : this.responseOf(error, socket, cause)),
    );
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
