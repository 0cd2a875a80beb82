import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { lingeringClose } from './lingering-close';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/** What is known of one connection; Node tells only which ones are idle. */
interface Connection {
  /** The requests that have begun to arrive and have not been answered. */
  readonly open: Set<IncomingMessage>;
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

  follow(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
  }

  /** Notes a request before anyone can answer it; false where its connection serves no further one. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.all.get(request.socket);
    if (!connection) return true;
    if (connection.isEnding) return false;
    connection.latest = request;
    connection.open.add(request);
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
    lingeringClose(socket, last, isSlow ? 0 : undefined);
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
      if ([...open].some((request) => !request.complete)) socket.destroy();
    }
  }

  private add(socket: Socket): void {
    this.all.set(socket, { open: new Set(), isEnding: false, isSlow: false });
    socket.once('close', () => this.all.delete(socket));
    // With this Node ends a connection after its last answer. Whose request has not arrived whole may still be sending.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const isSending = this.all.get(socket)?.isEnding === true || this.arriving(socket) !== undefined;
      if (isSending) this.close(socket);
      else destroySoon();
    };
  }
}
