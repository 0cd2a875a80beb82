import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { ApiError } from '../../errors/api-error';
import { errorResponse } from '../../errors/error-reply';
import { methodNotAllowed, platformErrors } from '../../errors/platform.errors';
import { breakBody } from '../body';
import type { Connections } from './connections';
import { COMMON_HEADERS } from '../response-headers';

/** Node's code for a request that did not arrive in time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

/** The errors of Node's HTTP parser and timers for requests that Fastify never gets; others are malformed requests. */
const ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: platformErrors.headers_too_large,
  [TOO_SLOW]: platformErrors.request_timeout,
};

/** The parts of the service that take part in the rejection of a request without a route. */
export interface RejectionHooks {
  /** Returns the rate-limit headers of a response that is not counted, by the client's address. */
  limitHeaders(address: string | undefined): Readonly<Record<string, string>>;
  /** Counts a rejection in the metrics, by the code of its Error body. */
  count(code: string): void;
  /** Returns the methods that at least one URL has. */
  servedMethods(): readonly string[];
}

/** The known parts of a request without a route. */
interface Rejected {
  /** The address of the client. */
  readonly ip: string | undefined;
  readonly cause: string | undefined;
  readonly accept: string | undefined;
}

/** Responds to requests that Fastify never gets: invalid HTTP, requests that are too slow, CONNECT. */
export class ProtocolErrors {
  /** The connections with a handled error. */
  private readonly failed = new WeakSet<Socket>();

  constructor(
    private readonly connections: Connections,
    private readonly hooks: RejectionHooks,
    private readonly log: FastifyBaseLogger,
    private readonly problemPages: string,
  ) {}

  /**
   * Handles the event `clientError` of a server. The earlier requests of the connection get their responses first. If
   * the body of a request is broken, the response to that request is the error. The service reads nothing more and
   * closes the connection.
   */
  handle(error: NodeJS.ErrnoException, socket: Socket): void {
    // The parser repeats its error for each further chunk.
    if (this.failed.has(socket)) return;
    this.failed.add(socket);
    if (error.code === 'ECONNRESET') socket.destroy();
    // If the socket is not writable, the last response has been written.
    if (!socket.writable) return;
    const rejection = (ERRORS[error.code ?? ''] ?? platformErrors.malformed_request)();
    const arriving = this.connections.arriving(socket);
    if (arriving) breakBody(arriving, rejection);
    this.close(socket, arriving ? undefined : rejection, error.code);
  }

  /**
   * Handles the event `connect` of a server: the service is not a proxy. Node has removed its listeners from the
   * socket, and the earlier responses still need two of them.
   */
  rejectConnect({ headers }: IncomingMessage, socket: Socket): void {
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => this.connections.passOnDrain(socket));
    const rejection = methodNotAllowed(this.hooks.servedMethods().join(', '));
    this.close(socket, rejection, 'CONNECT', headers.accept);
  }

  /** @param accept the header of the request, if its head was read */
  private close(
    socket: Socket,
    rejection: ApiError | undefined,
    cause: string | undefined,
    accept?: string,
  ): void {
    this.connections.end(socket, { isSlow: cause === TOO_SLOW });
    this.connections.onAllResponded(socket, () => {
      // An earlier response may have ended the connection.
      if (!socket.writable) return;
      const { remoteAddress: ip } = socket;
      this.connections.close(socket, rejection && this.responseOf(rejection, { ip, cause, accept }));
    });
  }

  /** Builds and logs the response. It takes neither X-Request-Id nor the path from the request. */
  private responseOf(rejection: ApiError, { ip, cause, accept }: Rejected): string {
    const reqId = randomUUID();
    this.hooks.count(rejection.code);
    this.log.info({ reqId, status: rejection.status, ip, cause }, 'request');
    const headers = {
      ...COMMON_HEADERS,
      ...this.hooks.limitHeaders(ip),
      'X-Request-Id': reqId,
      'Cache-Control': 'no-store',
    };
    return errorResponse(rejection, headers, { accept, requestId: reqId, pages: this.problemPages });
  }
}
