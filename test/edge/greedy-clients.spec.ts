import { readdirSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { startApp, type TestApp } from '../support/app';
import { sendRaw } from '../support/http';
import { itWhen } from '../support/it-when';
import { until } from '../support/until';

const ASSET = '/docs/swagger-ui-bundle.js';
const ORIGIN = 'https://shop.example';

describe('a client that asks for more than it reads', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ requestTimeoutMs: 500, corsOrigins: [ORIGIN] });
  });
  afterAll(() => app.close());

  const connections = () =>
    new Promise<number>((resolve) =>
      app.nest.getHttpServer().getConnections((_error, count) => resolve(count)),
    );

  /** Asks again and again on one connection, in one packet, and reads nothing. */
  async function askWithoutReading(path: string, times: number): Promise<Socket> {
    const { hostname, port } = new URL(app.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined).pause();
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
    return socket;
  }

  it('gets 64 answers of what it sends at once, the last with Connection: close, and nothing after', async () => {
    const answers = await sendRaw(app.url, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100));
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(64);
    expect(answers.match(/^connection: close/gim)).toHaveLength(1);
    expect(answers.split('HTTP/1.1 ').at(-1)).toMatch(/^connection: close/im);
  });

  it('is let go when it has taken nothing for the timeout of a request', async () => {
    await until(async () => (await connections()) === 0);
    const socket = await askWithoutReading(ASSET, 20);
    await until(async () => (await connections()) === 1);
    await until(async () => (await connections()) === 0);
    expect(socket.bytesRead).toBe(0);
    socket.destroy();
  });

  itWhen(process.platform === 'linux', 'needs /proc')('leaves no file open when it goes', async () => {
    const openAssets = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).endsWith('swagger-ui-bundle.js');
        } catch {
          return false;
        }
      }).length;
    const sockets = [];
    for (let at = 0; at < 5; at += 1) sockets.push(await askWithoutReading(ASSET, 50));
    await until(() => openAssets() > 10);
    for (const socket of sockets) socket.destroy();
    await until(() => openAssets() === 0);
    expect(openAssets()).toBe(0);
  });

  it.each([
    ['two Hosts', 'Host: x\r\nHost: x\r\n', 400],
    ['no Host', '', 400],
    ['an unknown Transfer-Encoding', 'Host: x\r\nTransfer-Encoding: gzip, chunked\r\n', 400],
    ['an unknown expectation', 'Host: x\r\nExpect: y\r\n', 417],
    ['too many headers', `Host: x\r\n${'A: b\r\n'.repeat(250)}`, 431],
  ])('is no preflight with %s: refused, closed, nothing behind it served', async (_what, headers, status) => {
    const preflight = `OPTIONS /v1/pets HTTP/1.1\r\nOrigin: ${ORIGIN}\r\nAccess-Control-Request-Method: POST\r\n`;
    const answers = await sendRaw(
      app.url,
      `${preflight}${headers}\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
    expect(answers).toMatch(/^connection: close/im);
  });
});
