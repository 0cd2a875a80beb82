import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Direction = 'to the server' | 'from the server';

/** A proxy in front of PostgreSQL that can end its connections after any byte. */
export interface CuttingProxy {
  /** Returns the URL of a database through the proxy. */
  through(url: string): string;
  /**
   * Passes this number of bytes in one direction, counted over all connections, and then ends every connection by
   * FIN or by RST.
   */
  cutAfter(bytes: number, direction: Direction, isReset: boolean): void;
  /** Ends every connection when the server responds to the next message that contains the text. */
  loseResponseTo(text: string): void;
  /** Cancels `cutAfter`. @returns true if it had already ended the connections */
  heal(): boolean;
  /** Ends every connection immediately. */
  end(): void;
  /** Accepts no further connection. */
  refuse(): void;
  /** If true, drops all bytes and keeps the connections open, like a lost network route. */
  isSilent: boolean;
  /** Replaces bytes in messages of the server. Both texts have the same length, within one message. */
  replaced: readonly [from: string, to: string] | undefined;
  close(): Promise<void>;
}

/** @param serverUrl a database of the server, on a Unix socket or TCP */
export async function startCuttingProxy(serverUrl: string): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let wasCut = false;
  let order: { left: number; direction: Direction; isReset: boolean } | undefined;
  let doomed: { text: string; isSent: boolean } | undefined;

  const cut = (isReset: boolean) => {
    for (const socket of open) {
      // A Unix socket cannot be reset.
      if (isReset && socket.remoteFamily) socket.resetAndDestroy();
      else socket.destroy();
    }
  };
  const isLost = (chunk: Buffer, direction: Direction): boolean => {
    if (!doomed) return false;
    if (direction === 'from the server') return doomed.isSent;
    doomed.isSent ||= chunk.includes(doomed.text);
    return false;
  };
  const pass = (chunk: Buffer, to: Socket, direction: Direction) => {
    if (proxy.isSilent) return;
    if (isLost(chunk, direction)) {
      doomed = undefined;
      cut(false);
      return;
    }
    if (order?.direction !== direction || chunk.length <= order.left) {
      if (order?.direction === direction) order.left -= chunk.length;
      to.write(chunk);
      return;
    }
    const { left, isReset } = order;
    order = undefined;
    wasCut = true;
    to.write(chunk.subarray(0, left), () => cut(isReset));
  };
  const server = createServer((client) => {
    const upstream = connectTo(serverUrl);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (chunk) => pass(chunk, upstream, 'to the server'));
    upstream.on('data', (chunk) => pass(replace(chunk, proxy.replaced), client, 'from the server'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closed = once(server, 'close');
  const { port } = server.address() as AddressInfo;
  const proxy: CuttingProxy = {
    through: (url) => {
      const parsed = new URL(url);
      parsed.host = `127.0.0.1:${port}`;
      parsed.search = 'sslmode=disable';
      return parsed.href;
    },
    cutAfter: (left, direction, isReset) => {
      wasCut = false;
      order = { left, direction, isReset };
    },
    loseResponseTo: (text) => {
      doomed = { text, isSent: false };
    },
    heal: () => {
      order = undefined;
      return wasCut;
    },
    end: () => cut(false),
    refuse: () => void server.close(),
    isSilent: false,
    replaced: undefined,
    close: async () => {
      cut(true);
      server.close();
      await closed;
    },
  };
  return proxy;
}

function connectTo(serverUrl: string): Socket {
  const { hostname, port, searchParams } = new URL(serverUrl);
  const directory = searchParams.get('host');
  return directory === null
    ? connect({ host: hostname, port: Number(port) })
    : connect(`${directory}/.s.PGSQL.${port}`);
}

function replace(chunk: Buffer, replaced: CuttingProxy['replaced']): Buffer {
  if (!replaced) return chunk;
  return Buffer.from(chunk.toString('latin1').replaceAll(...replaced), 'latin1');
}
