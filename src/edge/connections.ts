import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Knows of each connection whether a request on it waits for its answer; Node tells only which ones are idle. */
export class Connections {
  /** The requests that have begun to arrive and have not been answered, by their connection. */
  private readonly open = new Map<Socket, Set<IncomingMessage>>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => this.follow(socket));
    // Before anyone else, so that no answer can be faster than the count.
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const open = this.open.get(request.socket);
      open?.add(request);
      response.once('close', () => open?.delete(request));
    });
  }

  /** Ends every connection on which no request waits for its answer, whether it is idle or sends half a request. */
  destroyQuiet(): void {
    for (const [socket, requests] of this.open) if (requests.size === 0) socket.destroy();
  }

  /** Ends every connection whose request has not arrived whole. */
  destroyUnfinished(): void {
    for (const [socket, requests] of this.open) {
      if ([...requests].some((request) => !request.complete)) socket.destroy();
    }
  }

  private follow(socket: Socket): void {
    this.open.set(socket, new Set());
    socket.once('close', () => this.open.delete(socket));
  }
}
