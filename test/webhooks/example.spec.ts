import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';
import { addPets, createWebhook, tick } from './support/receivers';

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
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    try {
      await until(() => printed.includes('\n'));
      const [url] = /http:\S+/.exec(printed)!;
      // It outlives a sender that disconnects.
      const aborted = connect(Number(new URL(url).port), '127.0.0.1');
      aborted.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na', () =>
        aborted.resetAndDestroy(),
      );
      await until(() => printed.includes('rejected'));
      printed = printed.replace('rejected', '');
      // It reads 64 KiB at most, and does not wait for the rest.
      const endless = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
      endless.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n${'a'.repeat(70_000)}`);
      await until(() => printed.includes('rejected'));
      printed = printed.split('\n', 1)[0] + '\n';
      await app.send('PATCH', path, { body: { url } });
      await addPets(app, 'Rex');
      const [event] = (await app.get('/v1/events')).json;
      const delivered = async () => {
        await tick(app);
        await until(async () => (await app.get(path)).json.lastDeliveryAt !== null);
      };
      await delivered();
      await app.database.query(
        'UPDATE webhooks SET position = position - 1, due_at = created_at, last_delivery_at = NULL, is_idle = false',
      );
      await delivered();
      expect(JSON.parse(printed.split('\n')[1]!)).toEqual(event);
      app.clock.advance({ seconds: 600 });
      expect((await app.post(`${path}/test`, undefined)).json.delivered).toBe(false);
      await app.post(`${path}/rotate`, undefined);
      expect(printed.split('\n').slice(2)).toEqual([
        'rejected a delivery: the signature or the time is wrong',
        '',
      ]);
    } finally {
      child.kill();
    }
  });
});
