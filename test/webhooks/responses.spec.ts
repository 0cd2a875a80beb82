import type { GivenConfig } from '../../src/app/build';
import { WebhookSender } from '../../src/webhooks/webhook-sender';
import { startApp, type TestApp } from '../support/app';
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
    await receiver.close();
    await app.close();
  });

  it.each([
    ['a redirect', respondWith(302, { location: '/elsewhere' }), 'failing', /302/],
    [
      'a body that does not end in time',
      (response) => response.writeHead(200).write('a'),
      'failing',
      /within 0.2 s/,
    ],
    ['a closed connection', (response) => response.destroy(), 'failing', /ECONNRESET/],
    ['410', respondWith(410), 'disabled', /410/],
  ] as [string, Receiver['respond'], string, RegExp][])('fail with %s', async (_, respond, status, error) => {
    app.nest.get(WebhookSender, { strict: false }).timeoutMs = 200;
    receiver.respond = respond;
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await failed(app, path, 1);
    expect(await state(path)).toMatchObject({ status, lastError: expect.stringMatching(error) });
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
