import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { errorResponse } from '../errors/error-reply';
import { headersTooLarge, malformedRequest, methodNotAllowed, requestTimeout } from '../errors/http.errors';
import { breakBody } from './broken-body';
import type { Connections } from './connections';
import { SERVED_METHODS } from './methods';
import { COMMON_HEADERS } from './response-headers';

/** Node's name for a request that did not arrive in time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

/** What Node's HTTP parser and timers report of a request that Fastify never sees. */
const ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  [TOO_SLOW]: requestTimeout,
};

/** What the rest of the house does about a refusal that no route sees. */
export interface RefusalHooks {
  /** The limit's headers for an answer that is charged to nobody, by the client's address. */
  limitHeaders(address: string | undefined): Readonly<Record<string, string>>;
  /** @param code of the Error body */
  count(code: string): void;
}

/** Answers what never becomes a request of Fastify's: broken HTTP, requests that are too slow, CONNECT. */
export class ProtocolErrors {
  /** The connections whose error has been looked at. */
  private readonly failed = new WeakSet<Socket>();

  constructor(
    private readonly connections: Connections,
    private readonly hooks: RefusalHooks,
    private readonly log: FastifyBaseLogger,
  ) {}

  /**
   * For a server's `clientError`. Requests that came before on the same connection get their answers first; a request
   * whose body is broken gets its own; nothing that comes after is read, and the connection is closed.
   */
  answer(error: NodeJS.ErrnoException, socket: Socket): void {
    // The parser repeats its error with every further byte.
    if (this.failed.has(socket)) return;
    this.failed.add(socket);
    if (error.code === 'ECONNRESET') socket.destroy();
    // Otherwise the last answer is written already.
    if (!socket.writable) return;
    const refusal = (ERRORS[error.code ?? ''] ?? malformedRequest)();
    const arriving = this.connections.arriving(socket);
    if (arriving) breakBody(arriving, refusal);
    this.close(socket, arriving ? undefined : refusal, error.code);
  }

  /**
   * For a server's `connect`: the service is not a proxy. Node has removed its own listeners from the socket, and the
   * responses before this one still need two of them.
   */
  refuseConnect(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => this.connections.passOnDrain(socket));
    this.close(socket, methodNotAllowed(SERVED_METHODS.join(', ')), 'CONNECT');
  }

  private close(socket: Socket, refusal: ApiError | undefined, cause: string | undefined): void {
    this.connections.end(socket, { isSlow: cause === TOO_SLOW });
    this.connections.whenAnswered(socket, () => {
      // An answer before may have been the last.
      if (!socket.writable) return;
      this.connections.close(socket, refusal && this.responseOf(refusal, socket.remoteAddress, cause));
    });
  }

  /** Nothing of a broken request can be relied on, its X-Request-Id and its path included. */
  private responseOf(refusal: ApiError, ip: string | undefined, cause: string | undefined): string {
    const reqId = randomUUID();
    this.hooks.count(refusal.code);
    this.log.info({ reqId, status: refusal.status, ip, cause }, 'request');
    return errorResponse(refusal, {
      ...COMMON_HEADERS,
      ...this.hooks.limitHeaders(ip),
      'X-Request-Id': reqId,
      'Cache-Control': 'no-store',
    });
  }
}
