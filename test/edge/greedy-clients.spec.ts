import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { stopGracefully } from '../../src/app/graceful-stop';
import { startApp, type TestApp } from '../support/app';
import { send, sendRaw } from '../support/http';
import { isRefused } from '../support/is-refused';
import { until } from '../support/until';

const ASSET = '/docs/swagger-ui-bundle.js';

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNK = Buffer.alloc(65_536);
const CHUNKS = 128;
const STREAMED_BYTES = CHUNK.length * CHUNKS;

/** The streams of the responses of `/stream`. */
const streams: Readable[] = [];
/** The requests of `/one` that have begun and have no response: now, and the most so far. */
let atOnce = 0;
let mostAtOnce = 0;
/** Emits `begun` and `closed` for each response of `/never`, and `stream` for each of `/stream`. */
const signals = new EventEmitter();
/** The connections that the service has accepted. */
const accepted: Socket[] = [];

/** Lets the time of inactivity of all connections run out. */
const runOutOfPatience = () => accepted.forEach((socket) => socket.setTimeout(1));

/** Adds routes that send more than the buffers of a socket hold, as a module may. */
function addStream(nest: NestFastifyApplication): void {
  nest.getHttpServer().on('connection', (socket: Socket) => accepted.push(socket));
  const fastify = nest.getHttpAdapter().getInstance();
  fastify
    .get('/one', { config: { public: true } }, async () => {
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      await nextTurn();
      atOnce -= 1;
      return '{}';
    })
    .get('/busy', { config: { public: true } }, () => {
      // A spec may stop performance.now().
      for (const end = Date.now() + 2; Date.now() < end;);
      return '{}';
    })
    .get('/never', { config: { public: true } }, (_request, reply) => {
      reply.hijack().raw.once('close', () => signals.emit('closed'));
      signals.emit('begun');
    })
    .get('/stream', { config: { public: true } }, (_request, reply) => {
      const stream = Readable.from(Array<Buffer>(CHUNKS).fill(CHUNK));
      streams.push(stream);
      signals.emit('stream');
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
    // A busy machine ends none of the requests.
    const patient = { requestTimeoutMs: 600_000, headersTimeoutMs: 600_000, keepAliveTimeoutMs: 600_000 };
    app = await startApp(patient, { beforeListen: addStream });
  });
  afterEach(() => jest.restoreAllMocks());

  const connections = () =>
    new Promise<number>((resolve) =>
      app.nest.getHttpServer().getConnections((_error, count) => resolve(count)),
    );

  const haveEnded = () => until(async () => (await connections()) === 0);

  /** Sends several requests in one packet, and reads nothing. */
  const askWithoutReading = (path: string, times: number, last = '', url = app.url): Promise<Socket> =>
    open(url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times) + last, false);

  it('gets at most 64 responses to pipelined requests, one at a time, the last with Connection: close', async () => {
    const responses = await sendRaw(app.url, 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100));
    expect(responses.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(64);
    expect(responses.match(/^connection: close/gim)).toHaveLength(1);
    expect(responses.split('HTTP/1.1 ').at(-1)).toMatch(/^connection: close/im);
    expect(mostAtOnce).toBe(1);
  });

  it('delays a new connection by at most one request, while the others have many', async () => {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(app.url, '')));
    let done = 0;
    for (const socket of sockets) {
      socket.on(
        'data',
        (chunk: Buffer) => (done += chunk.toString('latin1').split('HTTP/1.1 200').length - 1),
      );
      socket.write('GET /busy HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20));
    }
    await Promise.race(sockets.map((socket) => once(socket, 'data')));
    expect((await send(app.url, 'GET', '/livez')).status).toBe(200);
    expect(done).toBeLessThan(200);
    for (const socket of sockets) socket.destroy();
  });

  it('is read at most 128 KiB ahead of its responses, so that the bodies of waiting requests fill no memory', async () => {
    const request = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(60_000)}`;
    let ahead = 0;
    const floods = Array.from({ length: 3 }, async () => {
      const client = await open(app.url, request.repeat(20));
      let text = '';
      await new Promise<void>((resolve) =>
        client.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1');
          const count = text.split('HTTP/1.1 4').length - 1;
          const { bytesRead = 0 } = accepted.find(({ remotePort }) => remotePort === client.localPort) ?? {};
          ahead = Math.max(ahead, bytesRead - count * request.length);
          if (count === 20) resolve();
        }),
      );
      client.destroy();
    });
    await Promise.all(floods);
    expect(ahead).toBeLessThan(131_072);
  });

  it('is disconnected, and its response closed, if the response is never completed, also after its FIN', async () => {
    expect(app.nest.getHttpServer().timeout).toBe(30_000);
    for (const way of ['write', 'end'] as const) {
      const [begun, closed] = [once(signals, 'begun'), once(signals, 'closed')];
      const socket = await open(app.url, '');
      socket[way]('GET /never HTTP/1.1\r\nHost: x\r\n\r\n');
      await begun;
      runOutOfPatience();
      if (!socket.closed) await once(socket, 'close');
      await closed;
      expect(socket.closed).toBe(true);
    }
  });

  it('is disconnected by CONNECT while an earlier response waits, and its stream is destroyed', async () => {
    streams.length = 0;
    const begun = once(signals, 'stream');
    const socket = await askWithoutReading('/stream', 1);
    await begun;
    socket.write(CONNECT);
    await haveEnded();
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true]);
    socket.destroy();
  });

  it('does not prevent a stop of the service', async () => {
    const other = await startApp({ requestTimeoutMs: 600_000 }, { beside: app, beforeListen: addStream });
    const sockets = [
      await askWithoutReading('/stream', 1, CONNECT, other.url),
      await askWithoutReading(ASSET, 60, '', other.url),
    ];
    await stopGracefully(other.nest, { noticeMs: 0, quietMs: 10, drainMs: 100 });
    await expect(send(other.url, 'GET', '/livez')).rejects.toThrow('ECONNREFUSED');
    for (const socket of sockets) socket.destroy();
    await other.close();
  });

  it('gets its response on a connection that waits in the backlog when the port is closed', async () => {
    const other = await startApp({}, { beside: app });
    const sent = Array.from({ length: 100 }, () => send(other.url, 'GET', '/livez'));
    await stopGracefully(other.nest, { noticeMs: 0, quietMs: 60_000, drainMs: 60_000 });
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 200));
    await other.close();
  });

  it('delays a stop by at most 9 s with half a request, and not at all with half a head', async () => {
    const settings = { requestTimeoutMs: 600_000, headersTimeoutMs: 600_000 };
    const other = await startApp(settings, { beside: app });
    // An integer, so that sums are exact.
    const begun = Math.ceil(performance.now());
    const now = jest.spyOn(performance, 'now').mockReturnValue(begun);
    const idle = await open(other.url, '');
    const head = await open(other.url, 'GET /v1/pets HTTP/1.1\r\nHo');
    const headers = `Host: x\r\nAuthorization: Bearer ${other.key}\r\nContent-Type: application/json`;
    const half = await open(other.url, `POST /v1/pets HTTP/1.1\r\n${headers}\r\nContent-Length: 50\r\n\r\n{`);
    const quietClosed = Promise.all([once(idle, 'close'), once(head, 'close')]);
    const halfClosed = once(half, 'close');
    const stopped = stopGracefully(other.nest);
    await until(() => isRefused(other.url));
    now.mockReturnValue(begun + 9_000);
    await quietClosed;
    expect(half.closed).toBe(false);
    now.mockReturnValue(begun + 9_001);
    await halfClosed;
    await stopped;
    await other.close();
  });
});
