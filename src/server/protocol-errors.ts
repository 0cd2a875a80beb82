import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import { errorResponse } from './error-reply';
import { methodNotAllowed, platformErrors } from '../platform/errors/platform.errors';
import { breakBody } from './json-body.guard';
import type { Connections } from './http-server';
import { COMMON_HEADERS } from './response-headers';

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

/** The further time of a late request of which bytes had arrived unread when its time ended. */
const GRACE_MS = 250;

/** How long the service reads and ignores what a client still sends after its last response. */
const LINGER_MS = 5_000;

/** Responds to requests that Fastify never gets: invalid HTTP, requests that are too slow, CONNECT. */
export class ProtocolErrors {
  /** The connections that get no further response. */
  private readonly failed = new WeakSet<Socket>();

  constructor(
    private readonly connections: Connections,
    private readonly hooks: RejectionHooks,
    private readonly log: FastifyBaseLogger,
    private readonly pages: string,
    private readonly requestTimeoutMs: number,
  ) {}

  /** Handles the event `clientError` of a server. */
  handle(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET') socket.destroy();
    else if (error.code === TOO_SLOW) void this.rejectLate(socket);
    else this.reject(socket, error.code);
  }

  /** Handles the event `connect` of a server: the service is not a proxy, so it closes the connection. */
  rejectConnect({ headers: { accept } }: IncomingMessage, socket: Socket): void {
    // Node has removed its own listener.
    socket.on('error', () => socket.destroy());
    // A response that is being sent would need further listeners of Node.
    if (this.connections.isBehind(socket)) {
      socket.destroy();
      return;
    }
    const error = methodNotAllowed(this.hooks.servedMethods().join(', '));
    this.close(socket, this.responseOf(error, { ip: socket.remoteAddress, cause: 'CONNECT', accept }));
  }

  /**
   * Rejects a request that has not arrived in time. Node's timer fires before Node reads what arrived while the service
   * was busy, and the service does not read a request while earlier ones of its connection wait.
   */
  private async rejectLate(socket: Socket): Promise<void> {
    const { bytesRead } = socket;
    const latest = this.connections.latest(socket);
    const isHeadLate = latest?.complete !== false;
    const isLate = (): boolean =>
      !socket.destroyed && this.connections.latest(socket) === latest && (isHeadLate || !latest.complete);
    await nextTurn();
    if (socket.bytesRead !== bytesRead) await sleep(GRACE_MS).then(() => nextTurn());
    while (isLate() && this.connections.isBehind(socket)) {
      // Further bytes would count as activity while the earlier response hangs.
      socket.pause();
      await sleep(this.requestTimeoutMs, undefined, { ref: false });
      await nextTurn();
    }
    if (isLate()) this.reject(socket, TOO_SLOW);
  }

  /**
   * Rejects what arrives on a connection. If the body of a request is broken, the response to that request is the error.
   * The earlier requests get their responses first. Then the service closes the connection.
   */
  private reject(socket: Socket, cause: string | undefined): void {
    // The parser repeats its error for each further chunk.
    if (this.failed.has(socket)) return;
    this.failed.add(socket);
    const error = (ERRORS[cause ?? ''] ?? platformErrors.malformed_request)();
    const latest = this.connections.latest(socket);
    const isBodyBroken = latest?.complete === false;
    if (isBodyBroken) breakBody(latest, error);
    this.connections.afterResponses(socket, () => {
      const { remoteAddress: ip } = socket;
      this.close(socket, isBodyBroken ? '' : this.responseOf(error, { ip, cause, accept: undefined }));
    });
  }

  /**
   * Writes the last bytes and closes the connection when its client has closed its side. If bytes arrive at a closed
   * socket, TCP resets the connection, and its client may lose the response.
   */
  private close(socket: Socket, last: string): void {
    socket.end(last).resume();
    const deadline = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(deadline));
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
    return errorResponse(rejection, headers, { accept, requestId: reqId, pages: this.pages });
  }
}
