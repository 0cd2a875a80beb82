import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { prepareGracefulStop } from '../../src/platform/edge/graceful-stop';
import { startApp, type TestApp } from '../support/app';
import { send, sendRaw } from '../support/http';
import { isRefused } from '../support/is-refused';
import { itWhen } from '../support/it-when';
import { until } from '../support/until';

const ASSET = '/docs/swagger-ui-bundle.js';

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNK = Buffer.alloc(65_536);
const CHUNKS = 128;
const STREAMED_BYTES = CHUNK.length * CHUNKS;

/** The streams of the responses of `/stream`. */
const streams: Readable[] = [];
/** The number of chunks read from each stream. */
const taken: number[] = [];
/** The number of chunks read from each stream before the stream before it was read to its end. */
const takenEarly: number[] = [];

/** One write that is larger than the buffers of the kernel. */
const LARGE = Buffer.alloc(32_000_000);

function* chunksOf(stream: number): Generator<Buffer> {
  for (let count = 1; count <= CHUNKS; count += 1) {
    taken[stream] = count;
    if ((taken[stream - 1] ?? CHUNKS) < CHUNKS) takenEarly[stream] = count;
    yield CHUNK;
  }
}

/** Adds routes that send more than the buffers of a socket hold, as a module may. */
function addStream(nest: NestFastifyApplication): void {
  const fastify = nest.getHttpAdapter().getInstance();
  fastify
    .get('/large', { config: { public: true } }, (_request, reply) => reply.send(LARGE))
    .get('/stream', { config: { public: true } }, (_request, reply) => {
      const stream = Readable.from(chunksOf(streams.length));
      streams.push(stream);
      return reply.header('content-length', STREAMED_BYTES).type('application/octet-stream').send(stream);
    });
}

/** Opens a connection and sends these bytes. */
async function open(url: string, bytes: string, isReading = true): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined)[isReading ? 'resume' : 'pause']();
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

describe('a client that requests more than it reads', () => {
  let app: TestApp;
  beforeAll(async () => {
    const settings = { requestTimeoutMs: 500, keepAliveTimeoutMs: 500 };
    app = await startApp(settings, { beforeListen: addStream });
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => app.close());

  const connections = () =>
    new Promise<number>((resolve) =>
      app.nest.getHttpServer().getConnections((_error, count) => resolve(count)),
    );

  /** Sends several requests in one packet, and reads nothing. */
  const askWithoutReading = (path: string, times: number, last = '', url = app.url): Promise<Socket> =>
    open(url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times) + last, false);

  it('gets at most 64 responses to pipelined requests, the last with Connection: close', async () => {
    const responses = await sendRaw(app.url, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100));
    expect(responses.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(64);
    expect(responses.match(/^connection: close/gim)).toHaveLength(1);
    expect(responses.split('HTTP/1.1 ').at(-1)).toMatch(/^connection: close/im);
  });

  it('is disconnected when it has read nothing for REQUEST_TIMEOUT_MS', async () => {
    await until(async () => (await connections()) === 0);
    const socket = await askWithoutReading(ASSET, 20);
    await until(async () => (await connections()) === 1);
    await until(async () => (await connections()) === 0);
    expect(socket.bytesRead).toBe(0);
    socket.destroy();
  });

  itWhen(process.platform === 'linux', 'needs /proc')(
    'opens no file of the service, even with many requests for files of /docs',
    async () => {
      const openFiles = () => readdirSync('/proc/self/fd').length;
      const before = openFiles();
      const sockets = [];
      for (let at = 0; at < 5; at += 1) sockets.push(await askWithoutReading(ASSET, 50));
      await until(async () => (await connections()) >= 5);
      // Both ends of each connection are in this process.
      expect(openFiles() - before).toBeLessThanOrEqual(2 * sockets.length);
      for (const socket of sockets) socket.destroy();
      await until(async () => (await connections()) === 0);
    },
  );

  it('gets all of a streamed response and 405 if CONNECT came in the same packet', async () => {
    const responses = await sendRaw(app.url, `GET /stream HTTP/1.1\r\nHost: x\r\n\r\n${CONNECT}`);
    expect(responses.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 405']);
    expect(responses.length).toBeGreaterThan(STREAMED_BYTES);
  });

  it('is disconnected after a CONNECT, too, and its streams are destroyed', async () => {
    const socket = await askWithoutReading('/stream', 3, CONNECT);
    await until(() => streams.length > 0);
    await until(async () => (await connections()) === 0);
    await until(() => streams.every((stream) => stream.destroyed));
    expect(streams.map((stream) => stream.destroyed)).toEqual([true, true, true, true]);
    socket.destroy();
  });

  it('makes the service read little of the second stream while it reads the first, before a CONNECT', async () => {
    const first = streams.length;
    const socket = await askWithoutReading('/stream', 2, CONNECT);
    await until(() => streams.length === first + 2);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > STREAMED_BYTES / 2) socket.pause();
    });
    socket.resume();
    await until(() => socket.isPaused());
    // The kernel may hold the rest of the first stream already.
    expect(taken[first]).toBeGreaterThan(CHUNKS / 2);
    expect(takenEarly[first + 1]).toBeLessThan(CHUNKS / 4);
    socket.destroy();
    await until(async () => (await connections()) === 0);
  });

  it('gets all of a large response while it reads slowly but steadily', async () => {
    const socket = await open(app.url, 'GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let bytes = 0;
    let allowed = 0;
    const keepPace = () => (bytes < allowed ? socket.resume() : socket.pause());
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      keepPace();
    });
    const pace = setInterval(() => {
      allowed += LARGE.length / 16;
      keepPace();
    }, 100);
    await once(socket, 'close');
    clearInterval(pace);
    expect(bytes).toBeGreaterThan(LARGE.length);
  });

  it('does not prevent a stop of the service', async () => {
    let stop: () => Promise<void> = () => Promise.resolve();
    const other = await startApp(
      { requestTimeoutMs: 600_000 },
      {
        beside: app,
        beforeListen: (nest) => {
          addStream(nest);
          stop = prepareGracefulStop(nest, {
            noticeMs: 0,
            quietMs: 10,
            arrivalMs: 10,
            stallMs: 600_000,
            drainMs: 100,
          });
        },
      },
    );
    const sockets = [
      await askWithoutReading('/stream', 1, CONNECT, other.url),
      await askWithoutReading(ASSET, 60, '', other.url),
    ];
    await stop();
    await expect(send(other.url, 'GET', '/livez')).rejects.toThrow('ECONNREFUSED');
    for (const socket of sockets) socket.destroy();
    await other.close();
  });

  it('delays a stop by at most 2 s with half a request, and not at all with half a head', async () => {
    let stop: () => Promise<void> = () => Promise.resolve();
    const settings = { requestTimeoutMs: 600_000, headersTimeoutMs: 600_000 };
    const other = await startApp(settings, {
      beside: app,
      beforeListen: (nest) => {
        stop = prepareGracefulStop(nest);
      },
    });
    // An integer, so that sums are exact.
    const begun = Math.ceil(performance.now());
    const now = jest.spyOn(performance, 'now').mockReturnValue(begun);
    const idle = await open(other.url, '');
    const head = await open(other.url, 'GET /v1/pets HTTP/1.1\r\nHo');
    const headers = `Host: x\r\nAuthorization: Bearer ${other.key}\r\nContent-Type: application/json`;
    const half = await open(other.url, `POST /v1/pets HTTP/1.1\r\n${headers}\r\nContent-Length: 50\r\n\r\n{`);
    const quietClosed = Promise.all([once(idle, 'close'), once(head, 'close')]);
    const halfClosed = once(half, 'close');
    const stopped = stop();
    await until(() => isRefused(other.url));
    // The same check destroys both kinds of connections, each after its own time.
    now.mockReturnValue(begun + 2_000);
    await quietClosed;
    expect(half.closed).toBe(false);
    now.mockReturnValue(begun + 2_001);
    await halfClosed;
    await stopped;
    await other.close();
  });
});
