import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { stopGracefully } from '../../src/app/graceful-stop';
import { startApp, type TestApp } from '../support/app';
import { scrape, valueOf } from '../support/metrics';
import { holdTimeouts, holdTimers } from '../support/timers';
import { until } from '../support/until';
import { type RawResponse, RawConnection, runOut } from './support/raw';
import { expectCommonHeaders, expectErrorBody } from './support/raw-rows';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const LIST = 'GET /v1/pets HTTP/1.1\r\n';
/** More than the buffers of two sockets on loopback. */
const UPLOAD_BYTES = 20_000_000;
/** How long the service ignores what a client sends after its last response. */
const LINGER_MS = 5_000;

const remainingOf = ({ headers }: RawResponse) => Number(headers['x-ratelimit-remaining']);

/** For the whole file; test/support/app closes it. */
let app: TestApp;
let finishStream: () => void;
/** Called with the id of each request whose head has arrived. */
let begun = (_id: string) => {};
beforeAll(async () => {
  app = await startApp(
    { metricsPort: 0 },
    {
      beforeListen: (nest) => {
        const fastify: FastifyInstance = nest.getHttpAdapter().getInstance();
        fastify.addHook('onRequest', ({ id }, _reply, done) => {
          begun(id);
          done();
        });
        fastify.get('/stream', { config: { public: true } }, (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200, { 'Content-Length': '10' });
          reply.raw.write('first');
          finishStream = () => reply.raw.end('-last');
        });
      },
    },
  );
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe('a request that the HTTP parser or the framing check rejects', () => {
  const sent = async (...parts: string[]): Promise<RawConnection> => {
    const raw = await RawConnection.open(app.url);
    for (const part of parts) raw.write(part);
    return raw;
  };

  /** One request for each way to be rejected before the guards. */
  const rejections: [title: string, bytes: string, status: number, code: string][] = [
    ['garbage', 'broken\r\n\r\n', 400, 'malformed_request'],
    ['too large a head', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['half a head', 'GET / HTTP/1.1\r\n', 408, 'request_timeout'],
    ['no Host', `${LIST}\r\n`, 400, 'malformed_request'],
    ['an unknown Expect', `${LIST}Host: x\r\nExpect: x\r\n\r\n`, 417, 'expectation_failed'],
    ['too many headers', `${LIST}Host: x\r\n${'a:\r\n'.repeat(300)}\r\n`, 431, 'headers_too_large'],
  ];

  it.each(rejections)(
    '%s: one log line with the X-Request-Id of the response, one count in the metrics, none in the rate limit',
    async (_title, bytes, status, code) => {
      const series = `animal_store_refusals_total{code="${code}"}`;
      const before = valueOf(await scrape(app), series) ?? 0;
      const other = await sent(LIVEZ);
      const left = remainingOf((await other.response())!);
      const raw = await sent(bytes);
      const restore = status === 408 ? runOut(app) : undefined;
      const response = (await raw.response())!;
      restore?.();
      expect(response.status).toBe(status);
      expectCommonHeaders(response);
      expectErrorBody(response, code);
      expect(response.headers['connection']).toBe('close');
      expect(remainingOf(response)).toBe(left);
      other.write('GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(remainingOf((await other.response())!)).toBe(left - 1);
      const id = response.headers['x-request-id']!;
      const lines = app.log.filter((line) => line.includes(id));
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, reqId: id, status, ip: '127.0.0.1' });
      expect(valueOf(await scrape(app), series)).toBe(before + 1);
      for (const each of [other, raw]) each.destroy();
    },
  );

  it('the message says what to fix in a URL with é or a space, as curl, Go and PHP send it', async () => {
    for (const q of ['é', 'a b']) {
      const raw = await sent(`GET /v1/pets?q=${q} HTTP/1.1\r\nHost: x\r\n\r\n`);
      const response = (await raw.response())!;
      raw.destroy();
      expectErrorBody(response, 'malformed_request');
      expect(response.text).toContain('In the URL, percent-encode spaces and non-ASCII characters.');
    }
  });

  it.each([
    ['broken', 400, 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['slow', 408, 'Content-Length: 10\r\n\r\n{'],
  ])('a %s body: %i with the request id and the windows of the account', async (kind, status, rest) => {
    const id = `${kind}-1`;
    const hasBegun = new Promise<void>((resolve) => (begun = (each) => each === id && resolve()));
    const raw = await sent(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${app.key}\r\n${rest}`,
    );
    await hasBegun;
    const restore = runOut(app);
    const response = (await raw.response())!;
    restore();
    raw.destroy();
    expect(response.status).toBe(status);
    expect(response.headers).toMatchObject({ 'x-request-id': id, connection: 'close' });
    expect(response.headers['ratelimit-policy']).toContain('"day"');
  });

  it('400 follows after the rest of a partly written response', async () => {
    const raw = await sent(LIVEZ.replace('/livez', '/stream'));
    let text = '';
    raw.socket.on('data', (chunk) => (text += chunk.toString()));
    while (!text.endsWith('first')) await once(raw.socket, 'data');
    const rejected = once(app.nest.getHttpServer(), 'clientError');
    raw.write('broken\r\n\r\n');
    await rejected;
    expect(text).toMatch(/first$/);
    finishStream();
    expect(await raw.response()).toMatchObject({ status: 200, text: 'first-last' });
    expect(await raw.response()).toMatchObject({ status: 400 });
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    raw.destroy();
  });

  it('a client that closes its side after the request gets its responses', async () => {
    const raw = await RawConnection.open(app.url);
    raw.socket.end(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n${LIVEZ}`);
    expect(await raw.response()).toMatchObject({ status: 200, text: '[]' });
    expect(await raw.response()).toMatchObject({ status: 200 });
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    raw.destroy();
  });

  it('400 for a client that closes its side before the end of a request', async () => {
    for (const bytes of [
      'GET /v1/pe',
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ]) {
      const raw = await RawConnection.open(app.url);
      raw.socket.end(bytes);
      expect(await raw.response()).toMatchObject({ status: 400 });
      expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
      raw.destroy();
    }
  });
});

describe('a rejection during an upload', () => {
  const connectionCount = (): Promise<number> => {
    const server = app.nest.getHttpServer();
    return promisify(server.getConnections.bind(server))();
  };
  const head = (headers: string): string =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n${headers}\r\n`;

  it('413 arrives before the body is sent, and the connection serves the next request', async () => {
    const raw = await RawConnection.open(app.url);
    raw.write(head(`Content-Type: application/json\r\nContent-Length: ${UPLOAD_BYTES}\r\n`));
    raw.write(Buffer.alloc(UPLOAD_BYTES / 2, 'x'));
    const response = (await raw.response())!;
    expect(response.status).toBe(413);
    expectErrorBody(response, 'payload_too_large');
    raw.write(Buffer.alloc(UPLOAD_BYTES / 2, 'x'));
    raw.write(LIVEZ);
    expect(await raw.response()).toMatchObject({ status: 200 });
    raw.destroy();
  });

  // Python's urllib closes each connection, and so does a client that offers `Upgrade`, as Java's does.
  it.each([
    [400, 'malformed_request', 'X : y\r\n'],
    [413, 'payload_too_large', 'Content-Type: application/json\r\nConnection: close\r\n'],
    [413, 'payload_too_large', 'Content-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n'],
  ])(
    '%i %s reaches a client that reads nothing until all 20 MB are sent: %j',
    async (status, code, headers) => {
      // On a slow machine the service would give up the rest.
      holdTimers({ timeouts: true });
      const raw = await RawConnection.open(app.url);
      raw.socket.pause();
      raw.write(head(`${headers}Content-Length: ${UPLOAD_BYTES}\r\n`));
      await new Promise<void>((resolve) =>
        raw.socket.write(Buffer.alloc(UPLOAD_BYTES, 'x'), () => resolve()),
      );
      raw.socket.resume();
      const response = (await raw.response())!;
      expect(response.status).toBe(status);
      expectErrorBody(response, code);
      expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
      raw.destroy();
    },
  );

  it('after the error of a broken body a stop does not wait for the client', async () => {
    holdTimeouts(LINGER_MS);
    const raw = await RawConnection.open(app.url);
    const bytes = head('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');
    raw.write(`${bytes}zz\r\n`);
    expect(await raw.response()).toMatchObject({ status: 400 });
    await stopGracefully(app.nest, { noticeMs: 0, quietMs: 0, drainMs: 600_000 });
    raw.destroy();
    await app.restart();
  });

  it('clients that disconnect anywhere leave neither connections nor log lines of errors', async () => {
    const good = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const beginnings = [
      `${good}broken\r\n\r\n`,
      `${good}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\nabc`,
      `${'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
      `${good}${head(`${json}Transfer-Encoding: chunked\r\n`)}zz\r\n`,
      `${head(`${json}Content-Length: 900000\r\n`)}${'x'.repeat(200_000)}`,
      `${head(`${json}Content-Length: 900\r\n`)}{`,
      good.replace('\r\n', '\r\nHost: y\r\n') + good,
      `${good}GET /v1`,
    ];
    const ways = ['end', 'destroy', 'resetAndDestroy'] as const;
    const before = app.log.length;
    // Each beginning with each way, with and without a pause.
    for (let at = 0; at < beginnings.length * ways.length; at += 1) {
      const raw = await RawConnection.open(app.url);
      raw.write(beginnings[at % beginnings.length]!);
      if (at % 2 === 0) await nextTurn();
      raw.socket[ways[at % ways.length]!]();
    }
    await until(async () => (await connectionCount()) === 0);
    expect(app.log.slice(before).filter((line) => /"level":(?:40|50|60)/.test(line))).toEqual([]);
    const last = await app.get('/v1/pets', { headers: { connection: 'close' } });
    expect(last.status).toBe(200);
  });

  it('after REQUEST_TIMEOUT_MS the service disconnects a client that keeps sending, and one that sends nothing', async () => {
    const [endless, silent] = [await RawConnection.open(app.url), await RawConnection.open(app.url)];
    const raws = [endless, silent];
    for (const raw of raws)
      raw.write(head('Content-Type: application/json\r\nContent-Length: 999999999999\r\n'));
    const more = setInterval(() => endless.write('x'), 1);
    const linger = holdTimeouts(LINGER_MS);
    for (const raw of raws) expect(await raw.response()).toMatchObject({ status: 413 });
    const restore = runOut(app);
    const gone = until(async () => {
      linger.pass();
      return (await connectionCount()) === 0;
    });
    await gone.finally(() => {
      clearInterval(more);
      restore();
      for (const raw of raws) raw.destroy();
    });
  });
});
