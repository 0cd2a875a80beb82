import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { startApp, type TestApp } from '../support/app';
import { scrape, valueOf } from '../support/metrics';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { type RawAnswer, RawConnection } from './support/raw';
import { expectCommonHeaders, expectErrorBody } from './support/raw-rows';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const TWENTY_MB = 20_000_000;

afterEach(() => {
  jest.useRealTimers();
});

describe('what the HTTP parser refuses', () => {
  let app: TestApp;
  let finishStream: () => void;
  beforeAll(async () => {
    app = await startApp(
      { metricsPort: 0, headersTimeoutMs: 200, requestTimeoutMs: 250 },
      {
        beforeListen: (nest) => {
          const fastify: FastifyInstance = nest.getHttpAdapter().getInstance();
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
  afterAll(() => app.close());

  const sent = async (...parts: string[]): Promise<RawConnection> => {
    const raw = await RawConnection.open(app.url);
    for (const part of parts) raw.write(part);
    return raw;
  };

  /** One refusal for each way in which a request does not become one of the router's. */
  const refusals: [what: string, bytes: string, status: number, code: string][] = [
    ['garbage', 'broken\r\n\r\n', 400, 'malformed_request'],
    ['too large a head', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['half a head', 'GET / HTTP/1.1\r\n', 408, 'request_timeout'],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['no Host', 'GET /v1/pets HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    ['an unknown Expect', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n', 417, 'expectation_failed'],
    [
      'too many headers',
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(300)}\r\n`,
      431,
      'headers_too_large',
    ],
  ];

  it.each(refusals)(
    '%s: one log line with the X-Request-Id of the answer, one more refusal in the metrics',
    async (_what, bytes, status, code) => {
      const series = `animal_store_refusals_total{code="${code}"}`;
      const before = valueOf(await scrape(app), series) ?? 0;
      const raw = await sent(bytes);
      const answer = (await raw.answer())!;
      raw.destroy();
      expect(answer.status).toBe(status);
      expectCommonHeaders(answer);
      expectErrorBody(answer, code);
      expect(answer.headers['connection']).toBe('close');
      const id = answer.headers['x-request-id']!;
      await until(() => app.log.some((line) => line.includes(id)));
      const lines = app.log.filter((line) => line.includes(id));
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, reqId: id, status, ip: '127.0.0.1' });
      expect(valueOf(await scrape(app), series)).toBe(before + 1);
    },
  );

  it.each(refusals)(
    '%s: counted against nobody, and shows the window of the address',
    async (_what, bytes) => {
      const remaining = ({ headers }: RawAnswer) => Number(headers['x-ratelimit-remaining']);
      const before = await sent(LIVEZ);
      const left = remaining((await before.answer())!);
      const raw = await sent(bytes);
      expect(remaining((await raw.answer())!)).toBe(left);
      before.write('GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(remaining((await before.answer())!)).toBe(left - 1);
      for (const each of [before, raw]) each.destroy();
    },
  );

  it('behind an answer that is partly written: that answer comes whole, then 400', async () => {
    const raw = await sent(LIVEZ.replace('/livez', '/stream'));
    let text = '';
    raw.socket.on('data', (chunk) => (text += chunk.toString()));
    await until(() => text.endsWith('first'));
    const isRefused = once(app.nest.getHttpServer(), 'clientError');
    raw.write('broken\r\n\r\n');
    await isRefused;
    // While the refusal waits for its turn, Node reports the same request as too slow.
    await once(app.nest.getHttpServer(), 'clientError');
    expect(text).toMatch(/first$/);
    finishStream();
    expect(await raw.answer()).toMatchObject({ status: 200, text: 'first-last' });
    expect(await raw.answer()).toMatchObject({ status: 400 });
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
  });

  it('a body that breaks or is too slow is refused as what it is: a request of its account', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Type: application/json\r\nAuthorization: Bearer ${app.key}\r\n`;
    const broken = await sent(`${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    const slow = await sent(`${head}Content-Length: 10\r\n\r\n{`);
    for (const [raw, status] of [[broken, 400] as const, [slow, 408] as const]) {
      const answer = (await raw.answer())!;
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({ 'x-request-id': 'mine', connection: 'close' });
      expect(answer.headers['ratelimit-policy']).toContain('"day"');
      raw.destroy();
    }
  });

  it('a client that was too slow is disconnected if it sends another byte', async () => {
    holdTimers({ timeouts: true });
    const raw = await sent('GET / HTTP/1.1\r\n');
    expect(await raw.answer()).toMatchObject({ status: 408 });
    await until(() => {
      raw.write('x');
      return raw.socket.destroyed;
    });
  });

  it('a client that ends its side after the request gets its answers', async () => {
    const raw = await RawConnection.open(app.url);
    raw.socket.end(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n${LIVEZ}`);
    expect(await raw.answer()).toMatchObject({ status: 200, text: '[]' });
    expect(await raw.answer()).toMatchObject({ status: 200 });
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
  });

  it('a client that ends its side amid a request gets 400', async () => {
    for (const bytes of [
      'GET /v1/pe',
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ]) {
      const raw = await RawConnection.open(app.url);
      raw.socket.end(bytes);
      expect(await raw.answer()).toMatchObject({ status: 400 });
      expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    }
  });
});

describe('a refusal while the client still sends', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const connectionCount = (): Promise<number> => {
    const server = app.nest.getHttpServer();
    return promisify(server.getConnections.bind(server))();
  };
  const head = (headers: string): string =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n${headers}\r\n`;

  it.each([
    ['413', 'payload_too_large', `Content-Type: application/json\r\nContent-Length: ${TWENTY_MB}\r\n`],
    ['415', 'unsupported_media_type', `Content-Type: text/xml\r\nContent-Length: ${TWENTY_MB}\r\n`],
    ['431', 'headers_too_large', `X: ${'x'.repeat(20_000)}\r\n`],
    ['400', 'malformed_request', `X : y\r\nContent-Length: ${TWENTY_MB}\r\n`],
    ['417', 'expectation_failed', `Expect: x\r\nContent-Length: ${TWENTY_MB}\r\n`],
  ])('%s %s reaches a client that reads nothing until all 20 MB are sent', async (status, code, headers) => {
    const raw = await RawConnection.open(app.url);
    raw.socket.pause();
    raw.write(head(headers));
    await new Promise<void>((resolve) => raw.socket.write(Buffer.alloc(TWENTY_MB, 'x'), () => resolve()));
    raw.socket.resume();
    const answer = (await raw.answer())!;
    expect(answer.status).toBe(Number(status));
    expectErrorBody(answer, code);
    expect(await raw.end()).toEqual({ state: 'closed', rest: '' });
    raw.destroy();
  });

  it('clients that break off anywhere leave no connection and no error behind', async () => {
    const good = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const beginnings = [
      `${good}broken\r\n\r\n`,
      `${good}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\nabc`,
      `${good}${head(`${json}Transfer-Encoding: chunked\r\n`)}zz\r\n`,
      `${head(`${json}Content-Length: 900000\r\n`)}${'x'.repeat(200_000)}`,
      `${head(`${json}Content-Length: 900\r\n`)}{`,
      good.replace('\r\n', '\r\nHost: y\r\n') + good,
      `${good}GET /v1`,
    ];
    const ways = ['end', 'destroy', 'resetAndDestroy'] as const;
    for (let at = 0; at < 210; at += 1) {
      const raw = await RawConnection.open(app.url);
      raw.write(beginnings[at % beginnings.length]!);
      if (at % 2 === 0) await sleep(1);
      raw.socket[ways[at % ways.length]!]();
    }
    await until(async () => (await connectionCount()) === 0);
    expect(app.log.filter((line) => /"level":(?:40|50|60)/.test(line))).toEqual([]);
    const last = await app.get('/v1/pets', { headers: { connection: 'close' } });
    expect(last.status).toBe(200);
  });

  it('the rest is not read for ever: neither of who sends on and on, nor of who sends nothing', async () => {
    const endless = await RawConnection.open(app.url);
    const silent = await RawConnection.open(app.url);
    const raws = [endless, silent];
    for (const raw of raws)
      raw.write(head('Content-Type: application/json\r\nContent-Length: 999999999999\r\n'));
    const filler = Buffer.alloc(1_000_000, 'x');
    const more = (): void => {
      while (!endless.socket.destroyed && endless.socket.write(filler));
    };
    endless.socket.on('drain', more);
    more();
    for (const raw of raws) expect(await raw.answer()).toMatchObject({ status: 413 });
    await until(async () => (await connectionCount()) === 0);
    // 64 MiB, and what the buffers of both sides hold.
    expect(endless.socket.bytesWritten - endless.socket.writableLength).toBeLessThan(100_000_000);
    for (const raw of raws) raw.destroy();
  });

  it('a client that sends a byte now and then after its last response is disconnected after 5 s', async () => {
    holdTimers({ timeouts: true });
    const raw = await RawConnection.open(app.url);
    raw.write(head('Content-Type: application/json\r\nContent-Length: 999999\r\n'));
    expect(await raw.answer()).toMatchObject({ status: 413 });
    pass({ seconds: 5 });
    await until(async () => {
      raw.write('x');
      return (await connectionCount()) === 0;
    });
    raw.destroy();
  });
});
