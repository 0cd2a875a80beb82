import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Certificate } from './certificates';
import { connectTo } from './cutting-proxy';

/** A proxy that gives PostgreSQL a TLS certificate. */
export interface TlsProxy {
  /** Returns the URL of a database through the proxy. */
  through(url: string, parameters: string): string;
  /** The certificate of new connections. */
  certificate: Certificate;
  /** Ends every connection. */
  end(): void;
  close(): Promise<void>;
}

export async function startTlsProxy(serverUrl: string, certificate: Certificate): Promise<TlsProxy> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    open.add(client.on('error', () => undefined));
    // The client asks for TLS with its first message.
    client.once('data', () => {
      client.write('S');
      const secure = new TLSSocket(client, {
        isServer: true,
        secureContext: createSecureContext(proxy.certificate),
      });
      const upstream = connectTo(serverUrl);
      for (const [socket, other] of [
        [secure, upstream],
        [upstream, secure],
      ] as const) {
        socket.on('error', () => undefined).once('close', () => other.destroy());
        socket.pipe(other);
      }
    });
    client.once('close', () => open.delete(client));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const proxy: TlsProxy = {
    through: (url, parameters) => {
      const parsed = new URL(url);
      parsed.host = `127.0.0.1:${port}`;
      parsed.search = parameters;
      return parsed.href;
    },
    certificate,
    end: () => open.forEach((socket) => socket.destroy()),
    close: async () => {
      proxy.end();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
  return proxy;
}
