import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';

type Direction = 'to the server' | 'from the server';

/** A proxy in front of PostgreSQL that can end its connections after any byte. */
export interface CuttingProxy {
  /** Returns the URL of a database through the proxy. @param parameters default: without TLS */
  through(url: string, parameters?: string): string;
  /** The key and the certificate of new connections with TLS. */
  certificate: SecureContextOptions | undefined;
  /**
   * Passes this number of bytes in one direction, counted over all connections, and then ends every connection by
   * FIN or by RST.
   *
   * @param sent only counts the bytes of the connection that next sends this text, and ends only that connection
   */
  cutAfter(bytes: number, direction: Direction, isReset: boolean, sent?: string): void;
  /** Cancels `cutAfter`. @returns true if it had already ended the connections */
  heal(): boolean;
  /** Ends every connection when the server responds to the next message that contains the text. */
  loseResponseTo(text: string): void;
  /** Ends every connection immediately. */
  end(): void;
  /** Leads new connections to another server, and keeps the open ones, as a service of Kubernetes does. */
  leadTo(serverUrl: string): void;
  /** The number of connections. */
  readonly count: number;
  /** Replaces bytes in messages of the server. Both texts have the same length, within one message. */
  replaced: readonly [from: string, to: string] | undefined;
  /** Is called with all bytes of the server. */
  onData: ((chunk: Buffer) => void) | undefined;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
}

interface Order {
  /** The bytes that may still pass. */
  left: number;
  readonly direction: Direction;
  readonly isReset: boolean;
  readonly sent: string | undefined;
  /** The connection that has sent the text. */
  sender: Connection | undefined;
}

/** @param serverUrl a database of the server, on a Unix socket or TCP */
export async function startCuttingProxy(serverUrl: string): Promise<CuttingProxy> {
  const open = new Set<Connection>();
  let target = serverUrl;
  let wasCut = false;
  let order: Order | undefined;
  let doomed: { text: string; isSent: boolean } | undefined;

  const isLost = (chunk: Buffer, direction: Direction): boolean => {
    if (!doomed) return false;
    if (direction === 'from the server') return doomed.isSent;
    doomed.isSent ||= chunk.includes(doomed.text);
    return false;
  };
  const pass = (chunk: Buffer, connection: Connection, direction: Direction) => {
    if (isLost(chunk, direction)) {
      doomed = undefined;
      endAll(open, false);
      return;
    }
    const to = direction === 'to the server' ? connection.upstream : connection.client;
    if (!order || !isCounted(order, chunk, connection, direction)) {
      to.write(chunk);
      return;
    }
    const { left, isReset, sender } = order;
    order.left -= chunk.length;
    if (order.left < 0) {
      order = undefined;
      wasCut = true;
    }
    to.write(chunk.subarray(0, left), () => {
      if (chunk.length > left) endAll(sender ? [sender] : open, isReset);
    });
  };
  const join = (client: Socket) => {
    const upstream = connectTo(target);
    const connection: Connection = { client, upstream };
    open.add(connection);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => undefined);
      socket.once('close', () => {
        open.delete(connection);
        other.destroy();
      });
    }
    client.on('data', (chunk) => pass(chunk, connection, 'to the server'));
    upstream.on('data', (chunk) => {
      proxy.onData?.(chunk);
      pass(replace(chunk, proxy.replaced), connection, 'from the server');
    });
  };
  // Without noDelay the proxy would add 40 ms to some responses.
  const server = createServer({ noDelay: true }, (client) => {
    const { certificate } = proxy;
    if (!certificate) return join(client);
    // The client asks for TLS with its first message.
    client
      .once('error', () => undefined)
      .once('data', () => {
        client.write('S');
        join(new TLSSocket(client, { isServer: true, secureContext: createSecureContext(certificate) }));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closed = once(server, 'close');
  const { port } = server.address() as AddressInfo;
  const proxy: CuttingProxy = {
    through: (url, parameters = 'sslmode=disable') => {
      const parsed = new URL(url);
      parsed.host = `127.0.0.1:${port}`;
      parsed.search = parameters;
      return parsed.href;
    },
    cutAfter: (left, direction, isReset, sent) => {
      wasCut = false;
      order = { left, direction, isReset, sent, sender: undefined };
    },
    heal: () => {
      order = undefined;
      return wasCut;
    },
    loseResponseTo: (text) => {
      doomed = { text, isSent: false };
    },
    end: () => endAll(open, false),
    leadTo: (other) => {
      target = other;
    },
    get count() {
      return open.size;
    },
    certificate: undefined,
    replaced: undefined,
    onData: undefined,
    close: async () => {
      endAll(open, true);
      server.close();
      await closed;
    },
  };
  return proxy;
}

function isCounted(order: Order, chunk: Buffer, connection: Connection, direction: Direction): boolean {
  if (order.sent === undefined) return direction === order.direction;
  if (direction === 'to the server' && !order.sender && chunk.includes(order.sent)) order.sender = connection;
  return direction === order.direction && connection === order.sender;
}

function endAll(connections: Iterable<Connection>, isReset: boolean): void {
  for (const { client, upstream } of connections) {
    for (const socket of [client, upstream]) {
      // A Unix socket cannot be reset.
      if (isReset && socket.remoteFamily) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
}

/** Connects to a server on a Unix socket or TCP. */
function connectTo(serverUrl: string): Socket {
  const { hostname, port, searchParams } = new URL(serverUrl);
  const directory = searchParams.get('host');
  return directory === null
    ? connect({ host: hostname, port: Number(port), noDelay: true })
    : connect(`${directory}/.s.PGSQL.${port}`);
}

function replace(chunk: Buffer, replaced: CuttingProxy['replaced']): Buffer {
  if (!replaced) return chunk;
  return Buffer.from(chunk.toString('latin1').replaceAll(...replaced), 'latin1');
}
