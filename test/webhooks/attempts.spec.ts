import { createHmac } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { readerFromNow } from '../events/support/feed';
import { startApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { withoutTable } from '../support/without-table';
import { addPets, respondWith, SETTINGS, startShop } from './support/receivers';

const HOUR = 3_600;

describe('the deliveries of a webhook', () => {
  const shop = startShop();
  let path: string;
  let secret: string;
  beforeEach(async () => {
    ({ path, secret } = await shop.create());
  });

  const list = () => shop.state(`${path}/deliveries`);
  const resend = (eventId: unknown, of = path) =>
    shop.app.post(`${of}/deliveries/${String(eventId)}/resend`, undefined, { key: shop.key });
  /** Adds two animals. @returns the ids of their events */
  const addTwo = async () => {
    const read = await readerFromNow(shop.app);
    await addPets(shop.app, 'Rex', 'Mimi');
    return (await read()).map(({ id }) => id);
  };

  it('are listed with status, duration and the beginning of the response, the newest first', async () => {
    const { app, receiver } = shop;
    receiver.respond = (response, { body }) =>
      body.includes('Rex') ? response.writeHead(202).end(`\0${'🐈'.repeat(300)}`) : response.destroy();
    const [rex, mimi] = await addTwo();
    await app.runDueWork();
    const at = new Date(app.clock.now()).toISOString();
    const common = { type: 'pet.created', at, durationMs: expect.any(Number) };
    const error = 'The connection failed: ECONNRESET.';
    expect(await list()).toEqual([
      { ...common, eventId: mimi, status: null, response: null, error },
      { ...common, eventId: rex, status: 202, response: `\ufffd${'🐈'.repeat(199)}`, error: null },
    ]);
  });

  it('continue while the attempts cannot be written', async () => {
    const { app } = shop;
    // The log is that of the instance that was started last.
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await withoutTable(app.database, 'webhook_attempts', async () => {
      await addTwo();
      // Unless the timer has found them before, it fails.
      await app.runDueWork().catch(() => undefined);
      expect((await shop.state(path)).waitingSince).toBeNull();
      expect(warn.mock.calls.join()).toMatch(/The delivery of events to webhooks fails.*webhook_attempts/);
    });
  });

  it('are the last 50, tests included', async () => {
    const { app } = shop;
    for (let count = 0; count < 6; count += 1) await shop.test(path);
    await addPets(app, ...Array.from({ length: 48 }, (_, at) => `Rex ${at}`));
    await app.runDueWork();
    const sent = shop.receiver.deliveries.slice(6).map(({ id }) => Number(id));
    const listed = await list();
    expect(listed.map((each: any) => each.eventId)).toEqual([...sent.toReversed(), 0, 0]);
    const type = 'webhook.test';
    expect(listed.at(-1)).toMatchObject({ type, status: 200, response: 'ignored', error: null });
    expect(await app.database.query('SELECT FROM webhook_attempts')).toHaveLength(50);
  });

  it('can be repeated, also while the webhook is disabled, without effect on its state', async () => {
    const { receiver } = shop;
    const [rex] = await addTwo();
    await shop.app.runDueWork();
    await shop.update(path, { status: 'disabled' });
    const before = await shop.state(path);
    expect((await resend(rex)).json).toEqual({ delivered: true, error: null });
    receiver.respond = respondWith(500);
    expect((await resend(rex)).json).toEqual({ delivered: false, error: 'The response was 500.' });
    expect(receiver.deliveries.map(({ id }) => id).slice(2)).toEqual([String(rex), String(rex)]);
    expect(receiver.deliveries[2]!.body).toBe(receiver.deliveries[0]!.body);
    expect(await shop.state(path)).toEqual(before);
    expect((await list()).map((each: any) => each.status)).toEqual([500, 200, 200, 200]);
  });

  it('of a failing event and of any other in the feed can be repeated, unknown ones are 404', async () => {
    shop.receiver.respond = respondWith(503);
    const [rex, mimi] = await addTwo();
    await shop.app.runDueWork();
    shop.receiver.respond = respondWith(200);
    for (const id of [rex, mimi, 0])
      expect((await resend(id)).json).toEqual({ delivered: true, error: null });
    await shop.update(path, { types: ['order.placed'] });
    for (const id of [mimi, mimi! + 1, -1, 'x', '9223372036854775807', '-9223372036854775808'])
      expectError(await resend(id), 404, 'event_not_found');
  });

  it('of a test are listed by each instance as soon as it has its response', async () => {
    const beside = await startApp(SETTINGS, { beside: shop.app });
    try {
      await beside.post(`${path}/test`, undefined, { key: shop.key });
      expect(await list()).toEqual([expect.objectContaining({ type: 'webhook.test' })]);
    } finally {
      await beside.close();
    }
  });

  it('end with the webhook', async () => {
    await shop.test(path);
    expect(await list()).toHaveLength(1);
    await shop.test(path);
    await shop.app.send('DELETE', path, { key: shop.key });
    await shop.app.runDueWork();
    expect(await shop.app.database.query('SELECT FROM webhook_attempts')).toEqual([]);
  });

  it('are signed with each replaced secret until its own graceSeconds end', async () => {
    const { app, receiver, key } = shop;
    const rotate = async (body?: object) =>
      (await app.post(`${path}/rotate`, body, { key })).json.secret as string;
    const secrets = [secret, await rotate()];
    app.clock.advance({ seconds: HOUR });
    for (const body of [{ graceSeconds: 2 * HOUR }, { graceSeconds: 0 }, {}])
      secrets.push(await rotate(body));
    const signing = async (seconds: number) => {
      app.clock.advance({ seconds });
      await shop.test(path);
      const delivery = receiver.deliveries.at(-1)!;
      return secrets.flatMap((each, at) => {
        const [, bytes = ''] = each.split('_');
        const message = `${delivery.id}.${delivery.headers['webhook-timestamp']}.${delivery.body}`;
        const digest = createHmac('sha256', Buffer.from(bytes, 'base64')).update(message).digest('base64');
        return delivery.headers['webhook-signature']!.split(' ').includes(`v1,${digest}`) ? at : [];
      });
    };
    const signed = [];
    for (const hours of [0, 2, 21, 1]) signed.push(await signing(hours * HOUR));
    expect(signed).toEqual([[0, 1, 3, 4], [0, 3, 4], [3, 4], [4]]);
    for (let count = 0; count < 4; count += 1) secrets.push(await rotate());
    expect(await signing(0)).toEqual([5, 6, 7, 8]);
  });
});
