import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyServerFactoryHandler as Handler } from 'fastify';
import type { Config } from '../config/config';
import { SECOND_MS } from '../time/time';
import type { ApiError } from '../api/errors/api-error';
import type { Logger } from './logger';

/** If for so long nothing is received or sent, a connection is destroyed. It exceeds the wait for the database. */
const INACTIVITY_TIMEOUT_MS = 30_000;

/** Request line and headers together; if they are longer, the response is 431. */
const MAX_HEAD_BYTES = 16_384;

/**
 * The time for the requests of one turn of the event loop. Node accepts one connection for each turn, so a shorter time
 * is better for new clients; creations of one turn share a commit, so a longer one is better for writers.
 */
const MAX_TURN_MS = 1;

/** Pending requests of one connection (RFC 9112, 9.3.2); the last one closes it. A read of 64 KiB can have 2,000. */
const MAX_PENDING = 64;

/** At MAX_CONNECTIONS: the shortest interval at which idle connections are closed, with a log line. */
const CLOSE_INTERVAL_MS = 1_000;

/** In each turn of the event loop Node accepts one connection, of which the backlog of the kernel has 511. */
const MAX_SETTLING_TURNS = 1_000;
/** Requests wait no longer for the close of the port: hooks of an extension may delay it. */
const MAX_HOLD_MS = 50;

/** How long the service reads and ignores what a client still sends after its last response. */
const LINGER_MS = 5_000;

interface Connection {
  readonly socket: Socket;
  /** The last request whose head has arrived. */
  latest?: IncomingMessage;
  /** True if it gets no further response. */
  hasFailed?: true;
  /** The work in the order of arrival. The first task waits for a turn, or its request has no complete response. */
  readonly tasks: (() => void)[];
}

/** The connections of the listener. Each has one request at a time, which begins in a turn of the event loop. */
export class Connections {
  /** True during a stop: responses ask the client to use another connection. */
  isStopping = false;
  private readonly bySocket = new Map<Socket, Connection>();
  /** The connections whose first task waits for a turn. */
  private readonly ready = new Set<Connection>();
  private idleClosedAt = -Infinity;
  private accepted = 0;
  private server: Server | undefined;
  private heldUntil = -Infinity;

  constructor(private readonly log: Logger) {}

  /** Creates the HTTP server, which hands each request over in its turn. */
  createServer(config: Config, handler: Handler): Server {
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
    server.on('connection', (socket: Socket) => this.accept(socket));
    server.on('drop', () => this.closeIdle(server));
    // Without a listener Node itself would respond to `Expect`.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request: IncomingMessage, response: ServerResponse) =>
        this.receive(request, response, handler),
      );
    this.server = server;
    return server;
  }

  private accept(socket: Socket): void {
    this.accepted += 1;
    const connection: Connection = { socket, tasks: [] };
    this.bySocket.set(socket, connection);
    // Node calls it after a last response, such as the 413 of a client that sends `Connection: close`.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () =>
      connection.latest?.complete === false ? closeInStages(socket) : destroySoon();
    // Node resumes a socket after each request, in a tick: even if it was paused in between. The event stops the reading.
    socket.on('resume', () => {
      if (connection.tasks.length > 1) socket.pause().emit('pause');
    });
    socket.once('close', () => this.bySocket.delete(socket));
  }

  /** Hands a request over in its turn. Its response, when it is complete, lets the next task of the connection begin. */
  private receive(request: IncomingMessage, response: ServerResponse, handler: Handler): void {
    const connection = this.bySocket.get(request.socket);
    if (!connection || connection.tasks.length >= MAX_PENDING) return;
    connection.latest = request;
    if (connection.tasks.length === MAX_PENDING - 1) response.setHeader('Connection', 'close');
    this.add(connection, () => {
      response.once('close', () => {
        connection.tasks.shift();
        if (connection.tasks.length > 0) this.schedule(connection);
      });
      handler(request, response);
    });
  }

  /**
   * Accepts the connections of the backlog, which the close of the port would reset. Further requests begin after the
   * close: with responses, clients would open the next connections.
   */
  async emptyBacklog(): Promise<void> {
    this.heldUntil = Infinity;
    // The first turn may be the rest of this one, which accepts none.
    for (let turn = 0, quiet = 0; turn < MAX_SETTLING_TURNS && quiet < 2; turn += 1) {
      const known = this.accepted;
      await nextTurn();
      quiet = known === this.accepted ? quiet + 1 : 0;
    }
    this.heldUntil = performance.now() + MAX_HOLD_MS;
  }

  /** Destroys every connection without a pending request: idle ones, with half a head, or after their last response. */
  destroyQuiet(): void {
    for (const { socket, tasks } of this.bySocket.values())
      if (tasks.length === 0 || socket.writableFinished) socket.destroy();
  }

  /** True for a connection without a pending request. */
  isIdle(socket: Socket): boolean {
    return this.bySocket.get(socket)?.tasks.length === 0;
  }

  /**
   * Rejects what arrives on a connection. If the body of a request is broken, the response to that request is the error.
   * The earlier requests get their responses first. Then the service closes the connection.
   *
   * @param print returns the last response
   */
  reject(socket: Socket, error: ApiError, print: () => string): void {
    const connection = this.bySocket.get(socket);
    // The parser repeats its error for each further chunk.
    if (!connection || connection.hasFailed) return;
    connection.hasFailed = true;
    const { latest } = connection;
    const isBody = latest?.complete === false;
    // The reading of the body fails, now or later. A response that does not need the body stays.
    if (isBody) latest.bodyError = error;
    // Without a listener the event would be an uncaught exception.
    if (isBody && latest.listenerCount('error') > 0) latest.emit('error', error);
    const respond = (): void => closeInStages(socket, isBody ? '' : print());
    // In the next turn the socket may have ended: Node ends it with its client's side if no request is pending.
    if (connection.tasks.push(respond) === 1) respond();
    else socket.pause();
  }

  /** Runs a task when every earlier request of its connection has its response. */
  private add(connection: Connection, task: () => void): void {
    if (connection.tasks.push(task) === 1) this.schedule(connection);
    // A client that sends faster than it gets responses fills its own buffers.
    else connection.socket.pause();
  }

  private schedule(connection: Connection): void {
    if (this.ready.size === 0) setImmediate(() => this.runTurn());
    this.ready.add(connection);
  }

  private runTurn(): void {
    const now = performance.now();
    const endsAt = now + MAX_TURN_MS;
    const isHeld = now < this.heldUntil && this.server?.listening;
    for (const connection of isHeld ? [] : this.ready) {
      this.ready.delete(connection);
      const { socket, tasks } = connection;
      if (tasks.length === 1 && socket.isPaused()) socket.resume();
      // After a response with `Connection: close`, nothing follows.
      if (socket.writable) tasks[0]?.();
      if (performance.now() >= endsAt) break;
    }
    if (this.ready.size > 0) setImmediate(() => this.runTurn());
  }

  /** Closes idle connections, and those after their last response, so that the next new one is accepted. */
  private closeIdle(server: Server): void {
    const now = performance.now();
    if (now - this.idleClosedAt < CLOSE_INTERVAL_MS) return;
    this.idleClosedAt = now;
    server.closeIdleConnections();
    for (const { socket } of this.bySocket.values()) if (socket.writableFinished) socket.destroy();
    this.log.warn(
      { maxConnections: server.maxConnections },
      'MAX_CONNECTIONS is reached. New connections and idle ones are closed.',
    );
  }
}

/** Writes the last bytes. If more bytes arrived at a closed socket, a reset by TCP could destroy the response. */
function closeInStages(socket: Socket, last = ''): void {
  socket.end(last).resume();
  const deadline = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(deadline));
}
