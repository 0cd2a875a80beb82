import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type Idle, IdleList } from './idle-list';
import { lingeringClose } from './lingering-close';
import { Overload } from './overload';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/**
 * Most requests of one connection that wait for their responses (RFC 9112, 9.3.2). A client that sends more gets these
 * responses and must send the rest on another connection.
 */
const PIPELINE_LIMIT = 64;

const SWEEP_INTERVAL_MS = 1_000;

/** The state of one connection. Node tells only which connections are idle. */
interface Connection extends Idle {
  readonly socket: Socket;
  /** The requests that have begun to arrive and have no complete response yet, with their responses. */
  readonly open: Map<IncomingMessage, ServerResponse>;
  /** Bytes of the responses that the client has taken, and when that number last changed. */
  taken: number;
  takenAt: number;
  /** The request that began last. */
  latest?: IncomingMessage;
  /** True once no further request on it is served. */
  isEnding: boolean;
  /** True once its client was too slow: the close does not wait for it again. */
  isSlow: boolean;
  /** Called once, when nothing is open. */
  whenAnswered?: () => void;
}

/** Follows the connections of the service's listener: which requests wait for responses, and which are idle. */
export class Connections {
  readonly overload: Overload;
  private readonly all = new Map<Socket, Connection>();
  /** The connections on which no request waits for its response; the longest idle comes first. */
  readonly idle = new IdleList<Connection>();

  constructor(
    private readonly maxConnections: number,
    log: FastifyBaseLogger,
  ) {
    this.overload = new Overload(maxConnections, log);
  }

  /** Open connections. */
  get size(): number {
    return this.all.size;
  }

  /** @param readTimeoutMs longest time for which a client may take nothing of what is sent to it */
  follow(server: Server, readTimeoutMs: number): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    const sweep = setInterval(() => {
      this.destroyStalled(readTimeoutMs);
      this.overload.update(this.size);
    }, SWEEP_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(sweep));
  }

  /** Notes a request before it is handled; returns false if its connection serves no further one. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.all.get(socket);
    if (!connection) return true;
    if (connection.isEnding) return false;
    connection.latest = request;
    connection.open.set(request, response);
    this.idle.remove(connection);
    if (connection.open.size === PIPELINE_LIMIT) {
      connection.isEnding = true;
      response.shouldKeepAlive = false;
    }
    response.once('close', () => {
      connection.open.delete(request);
      if (connection.open.size > 0) return;
      if (this.all.has(socket)) this.idle.add(connection);
      connection.whenAnswered?.();
    });
    return true;
  }

  /** Serves nothing more on this connection; requests that have begun get their responses. */
  end(socket: Socket, { isSlow = false } = {}): void {
    const connection = this.all.get(socket);
    if (!connection) return;
    connection.isEnding = true;
    connection.isSlow = isSlow;
  }

  /** Writes the last bytes, if any, and ends the connection so that its client can read them. */
  close(socket: Socket, last = ''): void {
    const isSlow = this.all.get(socket)?.isSlow === true;
    this.end(socket, { isSlow });
    lingeringClose(socket, last, { isSlow });
  }

  /** The request that is still arriving, whether or not it has its response. */
  arriving(socket: Socket): IncomingMessage | undefined {
    const latest = this.all.get(socket)?.latest;
    return latest?.complete === false ? latest : undefined;
  }

  /** Calls back, once, when every request that has begun on a connection has its response. */
  whenAnswered(socket: Socket, callback: () => void): void {
    const connection = this.all.get(socket);
    if (!connection || connection.open.size === 0) callback();
    else connection.whenAnswered = callback;
  }

  /** Tells the response that is being written on a socket that the socket takes bytes again. */
  passOnDrain(socket: Socket): void {
    for (const response of this.all.get(socket)?.open.values() ?? []) {
      if (response.socket === socket) response.emit('drain');
    }
  }

  /** Ends every connection on which no request waits for its response, whether it is idle or sends half a request. */
  destroyQuiet(): void {
    for (const [socket, { open }] of this.all) if (open.size === 0) socket.destroy();
  }

  /** Ends every connection whose request has not arrived whole. */
  destroyUnfinished(): void {
    for (const [socket, { open }] of this.all) {
      if ([...open.keys()].some((request) => !request.complete)) socket.destroy();
    }
  }

  /** Ends every connection on which bytes of a response have waited to be sent for longer than the limit. */
  destroyStalled(limitMs: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.all) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (taken !== connection.taken || !hasUnsentBytes(socket, connection)) {
        connection.taken = taken;
        connection.takenAt = now;
      } else if (now - connection.takenAt > limitMs) socket.destroy();
    }
  }

  /** Ends every connection, those included that Node's server no longer knows because of a CONNECT. */
  destroyAll(): void {
    for (const socket of this.all.keys()) socket.destroy();
  }

  private add(socket: Socket): void {
    const connection: Connection = {
      socket,
      previous: undefined,
      next: undefined,
      open: new Map(),
      taken: 0,
      takenAt: performance.now(),
      isEnding: false,
      isSlow: false,
    };
    this.all.set(socket, connection);
    this.idle.add(connection);
    socket.once('close', () => {
      this.forget(connection);
      closeQueued(connection);
    });
    this.lingerAfterLastResponse(socket);
    if (this.size > this.maxConnections) this.makeRoom(connection);
  }

  /** Ends the connection that has been idle longest: the newcomer itself if no other one is idle. */
  private makeRoom(newcomer: Connection): void {
    const longestIdle = this.idle.first ?? newcomer;
    this.overload.count(longestIdle === newcomer ? 'refused' : 'closed');
    // Counted out immediately: `close` comes only at the end of the turn, and more newcomers may come before it.
    this.forget(longestIdle);
    longestIdle.socket.destroy();
  }

  private forget(connection: Connection): void {
    this.all.delete(connection.socket);
    this.idle.remove(connection);
  }

  /** Node ends a connection after its last response by `destroySoon`; a client that is still sending needs more. */
  private lingerAfterLastResponse(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const isSending = this.all.get(socket)?.isEnding === true || this.arriving(socket) !== undefined;
      if (isSending) this.close(socket);
      else destroySoon();
    };
  }
}

/** Whether bytes wait in the socket, or in a response that waits for the socket to drain. */
function hasUnsentBytes(socket: Socket, { open }: Pick<Connection, 'open'>): boolean {
  if (socket.writableLength > 0) return true;
  return open.size > 0 && [...open.values()].some((each) => each.socket === socket && each.writableNeedDrain);
}

/** Node tells only the response that is being written that its connection is gone; the others hold files and timers. */
function closeQueued({ open }: Pick<Connection, 'open'>): void {
  for (const response of open.values()) {
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
