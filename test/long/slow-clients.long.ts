import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../../bench/figures';
import { send } from '../support/http';
import { itWhen } from '../support/it-when';
import { dataFolder } from '../support/service';
import { BuiltService } from './support/built-service';
import { createKey } from './support/keys';

const SOCKETS = 2_000;
/** The number of connections to open in one turn. More would overflow the listener's backlog. */
const BURST = 100;
const BYTE_INTERVAL_MS = 1_000;
const PAUSE_MS = 20;
/** Rounds after a first one that was too slow; then the median decides. */
const REPEATS = 2;
/** The defaults of HEADERS_TIMEOUT_MS and REQUEST_TIMEOUT_MS. */
const TIMEOUT_MS = { heads: 5_000, bodies: 10_000 };
const TOLERANCE_MS = 2_000;
const MAX_MEMORY_MIB = 80;
const KIB_PER_MIB = 1_024;
/** This process has the other ends of the connections. Node.js needs some files too. */
const MAX_FILES = SOCKETS + 200;

jest.setTimeout(300_000);

const openFiles =
  Number(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()) || Infinity;

describe(`${SOCKETS} clients that send a byte a second`, () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  let service: BuiltService;
  let key: string;
  beforeAll(async () => {
    service = await BuiltService.start(environment);
    key = await createKey(environment);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  /** Opens all connections, and sends requests as an ordinary client until the service has closed them. */
  async function attack(kind: 'heads' | 'bodies') {
    const opening = {
      heads: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ',
      // Has a valid key: without one the service would reject it before the body.
      bodies: `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`,
    };
    const memory = () => memoryOf(service.child.pid!);
    const [before, sockets, lives, statuses] = [memory(), [] as Socket[], [] as number[], new Set<number>()];
    const drip = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('x');
    }, BYTE_INTERVAL_MS);
    let mostMib = 0;
    while (lives.length < SOCKETS) {
      for (let at = 0; at < BURST && sockets.length < SOCKETS; at += 1)
        sockets.push(openSlow(service.url, opening[kind], (livedMs) => lives.push(livedMs)));
      statuses.add((await send(service.url, 'GET', '/v1/pets?limit=20', { key })).status);
      mostMib = Math.max(mostMib, memory() - before);
      await sleep(PAUSE_MS);
    }
    clearInterval(drip);
    return { longestMs: Math.max(...lives), grownMib: mostMib, statuses: [...statuses] };
  }

  itWhen(openFiles >= MAX_FILES, `"ulimit -n" allows ${openFiles} open files, it takes ${MAX_FILES}`)(
    'are disconnected in time, cost little memory, and fail no request of an ordinary client',
    async () => {
      // Warm-up: the memory of a process grows with its first requests.
      for (let sent = 0; sent < BURST; sent += 1) await send(service.url, 'GET', '/v1/pets', { key });
      for (const kind of ['heads', 'bodies'] as const) {
        const maxMs = TIMEOUT_MS[kind] + TOLERANCE_MS;
        const rounds = [await attack(kind)];
        const repeats = rounds[0]!.longestMs < maxMs ? 0 : REPEATS;
        for (let at = 0; at < repeats; at += 1) rounds.push(await attack(kind));
        process.stdout.write(`slow clients, ${kind}: ${JSON.stringify(rounds)}\n`);
        expect(median(rounds.map(({ longestMs }) => longestMs))).toBeLessThan(maxMs);
        expect(Math.max(...rounds.map(({ grownMib }) => grownMib))).toBeLessThan(MAX_MEMORY_MIB);
        expect(rounds.flatMap(({ statuses }) => statuses)).toEqual(rounds.map(() => 200));
      }
    },
  );
});

/** Opens a connection that reads no response. @param onClose gets its lifetime */
function openSlow(url: string, opening: string, onClose: (livedMs: number) => void): Socket {
  const { hostname, port } = new URL(url);
  // The kernel retries a connection that overflowed the listener's backlog, after a second.
  let openedAt = performance.now();
  const socket = connect({ host: hostname, port: Number(port) }, () => {
    openedAt = performance.now();
    socket.write(opening);
  });
  socket.on('error', () => undefined);
  socket.once('close', () => onClose(performance.now() - openedAt));
  return socket.resume();
}

/** Returns the resident memory of a process in MiB. */
function memoryOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / KIB_PER_MIB;
}
