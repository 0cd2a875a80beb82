import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { holdTimeouts } from '../support/timers';
import {
  addPets,
  createWebhook,
  failed,
  received,
  type Receiver,
  respondWith,
  settled,
  startReceiver,
} from './support/receivers';

describe('deliveries to hostile receivers', () => {
  let app: TestApp;
  let receiver: Receiver;
  const state = async (path: string) => (await app.get(path)).json;

  beforeEach(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as GivenConfig);
    receiver = await startReceiver();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await receiver.close();
    await app.close();
  });

  it.each([
    ['a redirect', respondWith(302, { location: '/elsewhere' }), 'failing', /302/],
    [
      'a closed connection',
      (response) => response.destroy(),
      'failing',
      /^The connection was closed before the end of the response\.$/,
    ],
    ['410', respondWith(410), 'disabled', /410/],
  ] as [string, Receiver['respond'], string, RegExp][])(
    'fail with %s',
    async (_what, respond, status, error) => {
      receiver.respond = respond;
      const { path } = await createWebhook(app, { url: receiver.url });
      await addPets(app, 'a');
      await failed(app, path, 1);
      expect(await state(path)).toMatchObject({ status, lastError: expect.stringMatching(error) });
      expect(receiver.deliveries).toHaveLength(1);
    },
  );

  it('fail with a body that does not end within 10 s', async () => {
    receiver.respond = (response) => response.writeHead(200).write('a');
    const { path } = await createWebhook(app, { url: receiver.url });
    const { pass } = holdTimeouts(10_000);
    await addPets(app, 'a');
    await received(app, receiver, 1);
    pass();
    await failed(app, path, 1);
    expect(await state(path)).toMatchObject({
      status: 'failing',
      lastError: 'No complete response within 10 s.',
    });
    expect(receiver.deliveries).toHaveLength(1);
  });

  it('close a connection that the receiver upgrades, so that its errors do not end the service', async () => {
    const isClosed = new Promise((resolve) => {
      receiver.respond = ({ socket }) => {
        socket!.on('close', resolve).write('HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
      };
    });
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await failed(app, path, 1);
    await isClosed;
    expect((await state(path)).lastError).toBe('The response was 101.');
  });

  it('read at most a few KiB of a response', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(65_536);
    const isClosed = new Promise<void>((resolve) => {
      receiver.respond = (response) => {
        response.on('close', resolve);
        const write = () => {
          while (!response.destroyed && sent < 2 ** 30 && response.write(chunk)) sent += chunk.length;
        };
        response.on('drain', write).writeHead(200);
        write();
      };
    });
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await received(app, receiver, 1);
    await isClosed;
    await settled(app);
    expect(sent).toBeLessThan(2 ** 25);
    expect((await state(path)).lastError).toBe(null);
  });
});

describe('tests of odd receivers', () => {
  let app: TestApp;
  let receiver: Receiver;
  let path: string;
  beforeAll(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as GivenConfig);
    receiver = await startReceiver();
    ({ path } = await createWebhook(app, { url: receiver.url }));
  });
  afterAll(async () => {
    await receiver.close();
    await app.close();
  });

  const test = async () => (await app.post(`${path}/test`, undefined)).json;
  const NO_HTTP = 'The response is not valid HTTP.';
  const NO_RESPONSE = 'No response, although much was received.';

  it.each([
    ['204 No Content\r\nContent-Length: 2\r\n\r\nok', null],
    ['204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', null],
    ['205 Reset Content\r\n\r\n', null],
    ['205 Reset Content\r\nContent-Length: 2\r\n\r\n', null],
    ['200 OK\r\nContent-Length: 0\r\n\r\nok', null],
    ['200 OK\r\nContent-Length: 2\r\n\r\nok\r\n\r\nok', null],
    ['200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nok', null],
    ['100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', null],
    ['304 Not Modified\r\nContent-Length: 2\r\n\r\nok', 'The response was 304.'],
    ['500 Oops\r\nContent-Length: 0\r\n\r\nok', 'The response was 500.'],
    ['200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n', NO_HTTP],
    ['200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length', NO_HTTP],
    ['2xx OK\r\n\r\n', NO_HTTP],
  ])('succeed or fail by their status line, in words: %j', async (response, error) => {
    receiver.respond = ({ socket }) => socket!.write(`HTTP/1.1 ${response}`);
    expect(await test()).toEqual({ delivered: error === null, error });
  });

  it.each([
    ['HTTP/1.1 100 Continue\r\n\r\n', NO_RESPONSE],
    ['HTTP/1.1 102 P\r\n\r\n', NO_RESPONSE],
    ['HTTP/1.1 103 E\r\nLink: <…>\r\n\r\n', NO_RESPONSE],
    ['HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n', 'The response was 101.'],
    ['HTTP/1.1 101 S\r\n\r\n', 'The response was 101.'],
    ['HTTP/1.1 100 ', NO_HTTP],
    ['HTTP/1.1 100 C\r\nA: ', NO_HTTP],
    ['\r\n\r\n', NO_RESPONSE],
    ['a', NO_HTTP],
  ])('end when a receiver repeats %j without an end', async (repeated, error) => {
    let sent = 0;
    const text = repeated.replace('…', 'a'.repeat(9_000));
    const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
    receiver.respond = ({ socket }) => {
      const write = () => {
        while (!socket!.destroyed && sent < 2 ** 30 && socket!.write(chunk)) sent += chunk.length;
      };
      socket!.on('drain', write).on('error', () => undefined);
      write();
    };
    expect(await test()).toEqual({ delivered: false, error });
    expect(sent).toBeLessThan(2 ** 25);
  });
});
