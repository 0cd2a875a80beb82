import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { Overload } from '../overload';
import { closeQueued, type Connection, LinkedList, newConnection } from './connection';
import { lingeringClose } from './lingering-close';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/**
 * The maximum of pending requests on one connection (RFC 9112, 9.3.2). A client that sends more gets the responses to
 * these and must send the rest on another connection.
 */
const MAX_PIPELINED = 64;

const SWEEP_INTERVAL_MS = 1_000;

/** The connections of the listener, with their pending requests. */
export class Connections {
  /** True during a stop: responses ask the client to use another connection. */
  isStopping = false;
  readonly overload: Overload;
  private readonly all = new Map<Socket, Connection>();
  /** The connections without a pending request; the connection that has been idle longest is first. */
  readonly idle = new LinkedList<Connection>();
  /** The other connections, by the time since they last completed a response; the longest time is first. */
  private readonly busy = new LinkedList<Connection>();
  private readonly maxConnections: number;
  private readonly requestTimeoutMs: number;

  constructor(
    { maxConnections, requestTimeoutMs }: { maxConnections: number; requestTimeoutMs: number },
    log: FastifyBaseLogger,
  ) {
    this.maxConnections = maxConnections;
    this.requestTimeoutMs = requestTimeoutMs;
    this.overload = new Overload(maxConnections, log);
  }

  /** The number of open connections. */
  get size(): number {
    return this.all.size;
  }

  follow(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    const sweep = setInterval(() => {
      this.destroyStalled(this.requestTimeoutMs);
      this.overload.update(this.size);
    }, SWEEP_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(sweep));
  }

  /** Records a request before it is handled; returns false if its connection handles no further request. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.all.get(socket);
    if (!connection) return true;
    if (connection.isEnding) return false;
    connection.latest = request;
    connection.open.set(request, response);
    if (connection.open.size === 1) this.moveToBusy(connection);
    if (connection.open.size === MAX_PIPELINED) {
      connection.isEnding = true;
      response.shouldKeepAlive = false;
    }
    response.once('close', () => {
      connection.open.delete(request);
      if (connection.open.size > 0) this.moveToBusy(connection);
      else this.moveToIdle(connection);
    });
    return true;
  }

  /** Handles no further request on this connection; requests that have begun get their responses. */
  end(socket: Socket, { isSlow = false } = {}): void {
    const connection = this.all.get(socket);
    if (!connection) return;
    connection.isEnding = true;
    connection.isSlow = isSlow;
  }

  /** Writes the last bytes, if any, and closes the connection so that its client can read them. */
  close(socket: Socket, last = ''): void {
    const isSlow = this.all.get(socket)?.isSlow === true;
    this.end(socket, { isSlow });
    lingeringClose(socket, last, { isSlow });
  }

  /** Returns the request that is still arriving, with or without a response. */
  arriving(socket: Socket): IncomingMessage | undefined {
    const latest = this.all.get(socket)?.latest;
    return latest?.complete === false ? latest : undefined;
  }

  /** Calls back once, when every request of a connection has its response. */
  onAllResponded(socket: Socket, callback: () => void): void {
    const connection = this.all.get(socket);
    if (!connection || connection.open.size === 0) callback();
    else connection.onAllResponded = callback;
  }

  /** Emits `drain` on the response that is being written on a socket. */
  passOnDrain(socket: Socket): void {
    for (const response of this.all.get(socket)?.open.values() ?? []) {
      if (response.socket === socket) response.emit('drain');
    }
  }

  /** Destroys every connection without a pending request: idle ones, and those that have sent half a head. */
  destroyQuiet(): void {
    for (const [socket, { open }] of this.all) if (open.size === 0) socket.destroy();
  }

  /** Destroys every connection with a request that has not arrived whole. */
  destroyUnfinished(): void {
    for (const [socket, { open }] of this.all) {
      if ([...open.keys()].some((request) => !request.complete)) socket.destroy();
    }
  }

  /** Destroys every connection on which bytes of a response wait without progress for longer than the limit. */
  destroyStalled(limitMs: number): void {
    for (const [socket, { open, progress }] of this.all) {
      if (progress.stalledMs(open.values()) > limitMs) socket.destroy();
    }
  }

  /** Destroys every connection, also those that Node's server has detached because of a CONNECT. */
  destroyAll(): void {
    for (const socket of this.all.keys()) socket.destroy();
  }

  private add(socket: Socket): void {
    const connection = newConnection(socket);
    this.all.set(socket, connection);
    this.idle.add(connection);
    socket.once('close', () => {
      this.forget(connection);
      closeQueued(connection);
    });
    this.lingerAfterLastResponse(socket);
    if (this.size > this.maxConnections) this.enforceLimit(connection);
  }

  /** Destroys the connection that has been idle longest; if none is idle, a slow one; else the new connection. */
  private enforceLimit(added: Connection): void {
    const candidate = this.idle.first === added ? this.slowConnection() : this.idle.first;
    const ended = candidate ?? added;
    this.overload.count(ended === added ? 'refused' : 'closed');
    // Removed immediately: the event `close` follows at the end of the turn, and more connections may precede it.
    this.forget(ended);
    ended.socket.destroy();
  }

  /** Returns a connection that has completed no response for REQUEST_TIMEOUT_MS: its client reads slowly. */
  private slowConnection(): Connection | undefined {
    const { first } = this.busy;
    return first && performance.now() - first.busySince > this.requestTimeoutMs ? first : undefined;
  }

  private moveToBusy(connection: Connection): void {
    this.idle.remove(connection);
    if (!this.all.has(connection.socket)) return;
    connection.busySince = performance.now();
    this.busy.add(connection);
  }

  private moveToIdle(connection: Connection): void {
    this.busy.remove(connection);
    if (this.all.has(connection.socket)) this.idle.add(connection);
    connection.onAllResponded?.();
  }

  private forget(connection: Connection): void {
    this.all.delete(connection.socket);
    this.idle.remove(connection);
    this.busy.remove(connection);
  }

  /** Replaces `destroySoon`, which Node calls after the last response: the client may still be sending. */
  private lingerAfterLastResponse(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const isSending = this.all.get(socket)?.isEnding === true || this.arriving(socket) !== undefined;
      if (isSending) this.close(socket);
      else destroySoon();
    };
  }
}
