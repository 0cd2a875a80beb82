import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startApp, type TestApp } from '../support/app';
import { addPets, createWebhook } from './support/receivers';

const RECEIVER = join(__dirname, '..', '..', 'examples', 'webhook-receiver', 'receiver.mjs');

describe('the example receiver', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as object);
    // The program compares the time of a delivery with its own clock.
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
  });
  afterAll(() => app.close());

  it('prints the events that its secret has signed, each once, and rejects others', async () => {
    const { secret, path } = await createWebhook(app, { url: 'http://127.0.0.1:1' });
    const child = spawn(process.execPath, [RECEIVER], {
      env: { ...process.env, WEBHOOK_SECRET: `${secret}\n`, PORT: '0' },
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const nextLine = async () => (await lines.next()).value as string;
    try {
      const [url] = /http:\S+/.exec(await nextLine())!;
      const port = Number(new URL(url).port);
      // It outlives a sender that disconnects.
      const aborted = connect(port, '127.0.0.1');
      aborted.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na', () =>
        aborted.resetAndDestroy(),
      );
      expect(await nextLine()).toContain('rejected');
      // It reads 64 KiB at most, and does not wait for the rest.
      const endless = connect(port, '127.0.0.1').on('error', () => undefined);
      endless.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n${'a'.repeat(70_000)}`);
      expect(await nextLine()).toContain('rejected');
      await app.send('PATCH', path, { body: { url } });
      await addPets(app, 'Rex');
      const [event] = (await app.get('/v1/events')).json;
      await app.runDueWork();
      // Another delivery of the same event.
      await app.post(`${path}/deliveries/${event.id}/resend`, undefined);
      app.clock.advance({ seconds: 600 });
      expect((await app.post(`${path}/test`, undefined)).json.delivered).toBe(false);
      expect(JSON.parse(await nextLine())).toEqual(event);
      expect(await nextLine()).toBe('rejected a delivery: the signature or the time is wrong');
    } finally {
      child.kill();
    }
  });
});
