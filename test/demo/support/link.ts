import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The way to one port of a node. While it is cut its connections stay open, and their bytes wait. */
export interface Link {
  cut(): void;
  heal(): void;
  close(): void;
}

/** Opens the way from one loopback address to the same port of another. */
export async function openLink(from: string, to: string, port: number): Promise<Link> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const join = ([one, other]: readonly [Socket, Socket]): void => {
    one.pipe(other);
    other.pipe(one);
  };
  const server = createServer({ noDelay: true }, (client) => {
    const pair = [client, connect({ host: to, port, noDelay: true })] as const;
    pairs.add(pair);
    for (const [socket, other] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      socket.on('error', () => undefined);
      socket.once('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    if (!isCut) join(pair);
  });
  server.listen(port, from);
  await once(server, 'listening');
  return {
    cut: () => {
      isCut = true;
      for (const each of [...pairs].flat()) each.unpipe().pause();
    },
    heal: () => {
      isCut = false;
      for (const pair of pairs) join(pair);
    },
    close: () => {
      server.close();
      for (const each of [...pairs].flat()) each.destroy();
    },
  };
}
