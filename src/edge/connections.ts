import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { lingeringClose } from './lingering-close';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/**
 * How many requests of one connection may wait for their answers. Who sends so many ahead of the answers (RFC 9112,
 * 9.3.2) gets those, and sends the rest on another connection.
 */
const PIPELINE_LIMIT = 64;

const SWEEP_INTERVAL_MS = 1_000;

/** What is known of one connection; Node tells only which ones are idle. */
interface Connection {
  /** The requests that have begun to arrive and have not been answered, with their responses. */
  readonly open: Map<IncomingMessage, ServerResponse>;
  /** What the client had taken of the answers when it last took anything, and when that was. */
  taken: number;
  takenAt: number;
  /** The request that began last. */
  latest?: IncomingMessage;
  /** True once no further request on it is served. */
  isEnding: boolean;
  /** True once its client was too slow: it is not waited for again. */
  isSlow: boolean;
  /** Called once, when nothing is open. */
  whenAnswered?: () => void;
}

/** Follows the connections of the service's listeners: which requests wait, and on which nothing more is served. */
export class Connections {
  private readonly all = new Map<Socket, Connection>();

  /** @param readTimeoutMs for how long a client may take nothing of what is being sent to it */
  follow(server: Server, readTimeoutMs: number): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    const sweep = setInterval(() => this.destroyUnread(readTimeoutMs), SWEEP_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(sweep));
  }

  /** Notes a request before anyone can answer it; false where its connection serves no further one. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.all.get(request.socket);
    if (!connection) return true;
    if (connection.isEnding) return false;
    connection.latest = request;
    connection.open.set(request, response);
    if (connection.open.size === PIPELINE_LIMIT) {
      connection.isEnding = true;
      response.shouldKeepAlive = false;
    }
    response.once('close', () => {
      connection.open.delete(request);
      if (connection.open.size === 0) connection.whenAnswered?.();
    });
    return true;
  }

  /** Serves nothing more on this connection; what has begun is answered. */
  end(socket: Socket, { isSlow = false } = {}): void {
    const connection = this.all.get(socket);
    if (!connection) return;
    connection.isEnding = true;
    connection.isSlow = isSlow;
  }

  /** Writes what is still to be written, if anything, and ends the connection so that its client can read it. */
  close(socket: Socket, last = ''): void {
    const isSlow = this.all.get(socket)?.isSlow === true;
    this.end(socket, { isSlow });
    lingeringClose(socket, last, { isSlow });
  }

  /** The request that is still arriving, answered or not. */
  arriving(socket: Socket): IncomingMessage | undefined {
    const latest = this.all.get(socket)?.latest;
    return latest?.complete === false ? latest : undefined;
  }

  /** Calls back, once, when every request that has begun on a connection is answered; at once where none waits. */
  whenAnswered(socket: Socket, callback: () => void): void {
    const connection = this.all.get(socket);
    if (!connection || connection.open.size === 0) callback();
    else connection.whenAnswered = callback;
  }

  /** Ends every connection on which no request waits for its answer, whether it is idle or sends half a request. */
  destroyQuiet(): void {
    for (const [socket, { open }] of this.all) if (open.size === 0) socket.destroy();
  }

  /** Ends every connection whose request has not arrived whole. */
  destroyUnfinished(): void {
    for (const [socket, { open }] of this.all) {
      if ([...open.keys()].some((request) => !request.complete)) socket.destroy();
    }
  }

  /** Ends every connection whose client takes nothing of its answers: they would be held for as long as it likes. */
  private destroyUnread(readTimeoutMs: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.all) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== connection.taken) {
        connection.taken = taken;
        connection.takenAt = now;
      } else if (now - connection.takenAt > readTimeoutMs) socket.destroy();
    }
  }

  private add(socket: Socket): void {
    const connection = {
      open: new Map(),
      taken: 0,
      takenAt: performance.now(),
      isEnding: false,
      isSlow: false,
    };
    this.all.set(socket, connection);
    socket.once('close', () => {
      this.all.delete(socket);
      closeQueued(connection);
    });
    // With this Node ends a connection after its last answer. Whose request has not arrived whole may still be sending.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const isSending = this.all.get(socket)?.isEnding === true || this.arriving(socket) !== undefined;
      if (isSending) this.close(socket);
      else destroySoon();
    };
  }
}

/** Node tells only the response whose turn it is that its connection is gone; those behind it hold files and timers. */
function closeQueued({ open }: Pick<Connection, 'open'>): void {
  for (const response of open.values()) {
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}
