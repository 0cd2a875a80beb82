import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { ProtocolErrors } from './protocol-errors';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

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

/** The time for the requests that arrive in one turn of the event loop; further ones have a later turn. */
const MAX_TURN_MS = 5;

/**
 * Requests of a later turn. Node accepts one connection for each turn, so fewer are better for new clients; creations
 * of one turn share a commit, so more are better for writers.
 */
const MAX_LATER = 4;

/**
 * The maximum of requests of one connection that wait, in addition to the current one (RFC 9112, 9.3.2). A read of
 * 64 KiB can contain 2,000, each with objects of 2 kB. The last one that is handled closes the connection.
 */
const MAX_WAITING = 63;

/** At MAX_CONNECTIONS: the shortest interval at which idle connections are closed, and that of the log line. */
const CLOSE_INTERVAL_MS = 1_000;
const LOG_INTERVAL_MS = 60_000;

interface Connection {
  readonly socket: Socket;
  /** The last request whose head has arrived. */
  latest?: IncomingMessage;
  /** The request that has begun and has no complete response. */
  current?: IncomingMessage | undefined;
  /** True while a task waits or a request has no complete response. */
  isBusy: boolean;
  /** The work after the current request, in the order of arrival. */
  readonly tasks: (() => void)[];
}

/**
 * The connections of the listener, and the order of their requests. A connection has one request at a time: the next
 * one begins in a later turn of the event loop. Between turns Node accepts new connections, one for each turn.
 */
export class Connections {
  /** True during a stop: responses ask the client to use another connection. */
  isStopping = false;
  /** The number of connections that MAX_CONNECTIONS rejected since the start. */
  refused = 0;
  private readonly all = new Map<Socket, Connection>();
  /** The connections whose next task waits for a turn. */
  private readonly ready: Connection[] = [];
  private turnBeganAt: number | undefined;
  private idleClosedAt = -Infinity;
  private loggedAt = -Infinity;

  constructor(private readonly log: FastifyBaseLogger) {}

  /** The number of open connections. */
  get size(): number {
    return this.all.size;
  }

  follow(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.all.set(socket, { socket, isBusy: false, tasks: [] });
      socket.once('close', () => this.all.delete(socket));
    });
    server.on('drop', () => this.closeIdle(server));
  }

  /** Handles a request after the earlier requests of its connection. */
  receive(request: IncomingMessage, response: ServerResponse, handler: Handler): void {
    const connection = this.all.get(request.socket);
    if (!connection || connection.tasks.length === MAX_WAITING) return;
    connection.latest = request;
    if (connection.tasks.length === MAX_WAITING - 1) response.setHeader('Connection', 'close');
    this.add(connection, () => {
      connection.current = request;
      response.once('close', () => this.finish(connection));
      handler(request, response);
    });
  }

  /** Runs the last task of a connection when every earlier request has its response. */
  afterResponses(socket: Socket, task: () => void): void {
    const connection = this.all.get(socket);
    if (connection) this.add(connection, task);
  }

  /** Returns the last request whose head has arrived. */
  latest(socket: Socket): IncomingMessage | undefined {
    return this.all.get(socket)?.latest;
  }

  /** True if the service reads nothing more of this connection until it has completed an earlier response. */
  isBehind(socket: Socket): boolean {
    const { isBusy, current, latest } = this.all.get(socket) ?? {};
    return isBusy === true && (latest?.complete === true || current !== latest);
  }

  /** Destroys every connection without a pending request: idle ones, and those that have sent half a head. */
  destroyQuiet(): void {
    for (const { socket, isBusy } of this.all.values()) if (!isBusy) socket.destroy();
  }

  destroyAll(): void {
    for (const socket of this.all.keys()) socket.destroy();
  }

  private add(connection: Connection, task: () => void): void {
    const { socket, tasks } = connection;
    tasks.push(task);
    const isFirst = !connection.isBusy;
    connection.isBusy = true;
    if (isFirst && this.ready.length === 0 && this.hasTime()) {
      this.runTask(connection);
      return;
    }
    if (isFirst) this.ready.push(connection);
    // A client that sends faster than it gets responses fills its own buffers. Node's parser resumes the socket for the
    // next request in a tick; a microtask runs after it and before the next read.
    queueMicrotask(() => {
      if (tasks.length > 0) socket.pause();
    });
  }

  private finish(connection: Connection): void {
    connection.current = undefined;
    connection.isBusy = connection.tasks.length > 0;
    if (connection.isBusy) {
      this.ready.push(connection);
      this.hasTime();
    } else if (connection.socket.isPaused()) connection.socket.resume();
  }

  /** Begins a turn if none has begun. */
  private hasTime(): boolean {
    const now = performance.now();
    if (this.turnBeganAt === undefined) {
      this.turnBeganAt = now;
      setImmediate(() => this.runReady());
    }
    return now - this.turnBeganAt < MAX_TURN_MS;
  }

  private runReady(): void {
    const turn = this.ready.splice(0, MAX_LATER);
    this.turnBeganAt = turn.length > 0 ? performance.now() : undefined;
    if (turn.length === 0) return;
    setImmediate(() => this.runReady());
    for (const connection of turn) this.runTask(connection);
  }

  private runTask({ socket, tasks }: Connection): void {
    const task = tasks.shift();
    if (tasks.length === 0 && socket.isPaused()) socket.resume();
    // After a response with `Connection: close`, nothing follows.
    if (socket.writable) task?.();
  }

  /** Closes idle connections, so that the next new one is accepted. */
  private closeIdle(server: Server): void {
    this.refused += 1;
    const now = performance.now();
    if (now - this.idleClosedAt < CLOSE_INTERVAL_MS) return;
    this.idleClosedAt = now;
    server.closeIdleConnections();
    if (now - this.loggedAt < LOG_INTERVAL_MS) return;
    this.loggedAt = now;
    this.log.warn(
      { maxConnections: server.maxConnections },
      'MAX_CONNECTIONS is reached. New connections and idle ones are closed.',
    );
  }
}
