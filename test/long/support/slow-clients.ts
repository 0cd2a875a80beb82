/**
 * A slow attacker in its own process: opens many concurrent connections, sends one byte per second of a request's head or
 * body on each, and prints when the service closed them.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , url = '', key = '', sockets = '', kind = ''] = process.argv;
const { hostname, port } = new URL(url);
const BYTE_INTERVAL_MS = 1_000;
/** The number of connections to open in one turn. More would overflow the listener's backlog. */
const BURST = 100;
const HEAD = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ';
/** Has a valid key: without one the service would reject it before the body. */
const BODY = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`;

interface Slow {
  readonly socket: Socket;
  /** The lifetime of the connection in milliseconds, also if it was rejected immediately. */
  readonly lived: Promise<number>;
}

function open(opening: string): Slow {
  // The kernel retries a connection that overflowed the listener's backlog, after a second.
  let openedAt = performance.now();
  const socket = connect({ host: hostname, port: Number(port) }, () => {
    openedAt = performance.now();
    socket.write(opening);
  });
  socket.on('error', () => undefined);
  // An attacker does not read the response.
  socket.resume();
  const lived = new Promise<number>((resolve) =>
    socket.once('close', () => resolve(performance.now() - openedAt)),
  );
  return { socket, lived };
}

async function openAll(count: number, opening: string): Promise<Slow[]> {
  const all: Slow[] = [];
  while (all.length < count) {
    for (let at = 0; at < BURST && all.length < count; at += 1) all.push(open(opening));
    await sleep(5);
  }
  return all;
}

void (async () => {
  const all = await openAll(Number(sockets), kind === 'bodies' ? BODY : HEAD);
  const drip = setInterval(() => {
    for (const { socket } of all) if (!socket.destroyed) socket.write('x');
  }, BYTE_INTERVAL_MS);
  const lives = await Promise.all(all.map(({ lived }) => lived));
  clearInterval(drip);
  process.stdout.write(
    `${JSON.stringify({ shortestMs: Math.min(...lives), longestMs: Math.max(...lives), count: lives.length })}\n`,
  );
})();
