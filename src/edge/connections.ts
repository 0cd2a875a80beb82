import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { lingeringClose } from './lingering-close';
import { type Linked, LinkedList } from './linked-list';
import { Overload } from './overload';
import { SendProgress } from './send-progress';

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
interface Connection extends Linked {
  readonly socket: Socket;
  /** The requests that have begun to arrive and have no complete response yet, with their responses. */
  readonly open: Map<IncomingMessage, ServerResponse>;
  readonly progress: SendProgress;
  /** When it became busy, or last completed a response; by the monotonic clock, in milliseconds. */
  busySince: number;
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
  readonly idle = new LinkedList<Connection>();
  /** The others; the one that has completed no response for longest comes first. */
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

  /** Open connections. */
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

  /** Notes a request before it is handled; returns false if its connection serves no further one. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.all.get(socket);
    if (!connection) return true;
    if (connection.isEnding) return false;
    connection.latest = request;
    connection.open.set(request, response);
    if (connection.open.size === 1) this.moveToBusy(connection);
    if (connection.open.size === PIPELINE_LIMIT) {
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

  /** Ends every connection on which bytes of a response wait and none has been sent for longer than the limit. */
  destroyStalled(limitMs: number): void {
    for (const [socket, { open, progress }] of this.all) {
      if (progress.stalledMs(open.values()) > limitMs) socket.destroy();
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
      list: undefined,
      open: new Map(),
      progress: new SendProgress(socket),
      busySince: 0,
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

  /** Ends the connection that has been idle longest; if none is idle, one that is too slow; else the newcomer. */
  private makeRoom(newcomer: Connection): void {
    const given = this.idle.first === newcomer ? this.tooSlow() : this.idle.first;
    const ended = given ?? newcomer;
    this.overload.count(ended === newcomer ? 'refused' : 'closed');
    // Counted out immediately: `close` comes only at the end of the turn, and more newcomers may come before it.
    this.forget(ended);
    ended.socket.destroy();
  }

  /** A connection that has completed no response for longer than any request may take: its client reads slowly. */
  private tooSlow(): Connection | undefined {
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
    connection.whenAnswered?.();
  }

  private forget(connection: Connection): void {
    this.all.delete(connection.socket);
    this.idle.remove(connection);
    this.busy.remove(connection);
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

/** Node tells only the response that is being written that its connection is gone; the others hold files and timers. */
function closeQueued({ open }: Pick<Connection, 'open'>): void {
  for (const response of open.values()) {
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
