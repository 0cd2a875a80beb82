import { once } from 'node:events';
import { connect } from 'node:net';
import { send } from '../support/http';
import { dataFolder } from '../support/service';
import { BuiltService } from './support/built-service';

const INACTIVITY_MS = 30_000;
const PAUSE_MS = 1_000;
const ASSET = '/docs/swagger-ui-bundle.js';
const ASSETS = 20;

jest.setTimeout(300_000);

describe('slow readers', () => {
  it(`get all of large responses while they read steadily, for longer than the ${INACTIVITY_MS / 1_000} s of inactivity`, async () => {
    const folder = dataFolder();
    const service = await BuiltService.start({ DATA_DIR: folder.path, LOG_LEVEL: 'silent' });
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) }).pause();
    socket.write(`GET ${ASSET} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(ASSETS - 1));
    socket.write(`GET ${ASSET} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const begin = performance.now();
    const isClosed = once(socket, 'close');
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (performance.now() - begin > 1.5 * INACTIVITY_MS) return;
      socket.pause();
      setTimeout(() => socket.resume(), PAUSE_MS);
    });
    socket.resume();
    await isClosed;
    const seconds = (performance.now() - begin) / 1_000;
    process.stdout.write(`slow readers: ${bytes} bytes within ${seconds.toFixed(0)} s\n`);
    const { text } = await send(service.url, 'GET', ASSET);
    expect(bytes).toBeGreaterThan(ASSETS * text.length);
    expect(seconds).toBeGreaterThan(INACTIVITY_MS / 1_000);
    await service.stop();
    folder.remove();
  });
});
