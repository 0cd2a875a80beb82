import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { withoutTable } from '../support/without-table';
import { until } from '../support/until';
import {
  addPets,
  createWebhook,
  failed,
  received,
  type Receiver,
  respondWith,
  settled,
  startReceiver,
  tick,
  ticked,
} from './support/receivers';

const DAY = 86_400;

describe('the deliveries of a webhook', () => {
  let app: TestApp;
  let receiver: Receiver;
  let path: string;
  beforeEach(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as GivenConfig);
    receiver = await startReceiver();
    ({ path } = await createWebhook(app, { url: receiver.url }));
  });
  afterEach(async () => {
    await receiver.close();
    await app.close();
  });

  const list = async (): Promise<any[]> => (await app.get(`${path}/deliveries`)).json;
  const resend = (eventId: unknown, options = {}) =>
    app.post(`${path}/deliveries/${String(eventId)}/resend`, undefined, options);
  const createdIds = async () =>
    (await app.get('/v1/events?type=pet.created')).json.map(({ id }: { id: number }) => id);

  it('are listed with status, duration and the beginning of the response, the newest first', async () => {
    receiver.respond = (response, { body }) =>
      body.includes('Rex') ? response.writeHead(202).end(`\0${'🐈'.repeat(300)}`) : response.destroy();
    await addPets(app, 'Rex', 'Mimi');
    await failed(app, path, 1);
    const [rex, mimi] = await createdIds();
    const at = new Date(app.clock.now()).toISOString();
    const common = { type: 'pet.created', at, durationMs: expect.any(Number) };
    expect(await list()).toEqual([
      {
        ...common,
        eventId: mimi,
        status: null,
        response: null,
        error: 'The connection was closed before the end of the response.',
      },
      { ...common, eventId: rex, status: 202, response: `\ufffd${'🐈'.repeat(199)}`, error: null },
    ]);
    const { status, nextAttemptAt } = (await app.get(path)).json;
    expect(status).toBe('failing');
    expect(Date.parse(nextAttemptAt)).toBeGreaterThan(app.clock.now());
  });

  it.each([
    ['HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 200, ''],
    ['HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\n\n\t \x1b\x7f ', 500, '\n\t \x1b\x7f '],
    ['HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nok', null, null],
    ['220 ready\r\n', null, null],
  ])('show the response %j as it is', async (bytes, status, response) => {
    receiver.respond = ({ socket }) => socket!.end(bytes);
    await app.post(`${path}/test`, undefined);
    expect(await list()).toMatchObject([{ eventId: 0, status, response }]);
  });

  it('continue while the attempts cannot be written, and are written afterwards', async () => {
    await withoutTable(app.database, 'webhook_attempts', async () => {
      await addPets(app, 'Rex', 'Mimi');
      // A tick fails if it finds attempts to write.
      await until(async () => {
        await tick(app).catch(() => undefined);
        return (await app.get(path)).json.waitingSince === null;
      });
      await expect(tick(app)).rejects.toThrow('webhook_attempts');
    });
    await until(async () => (await list()).length === 2);
    expect((await list()).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('are the last 50, tests included, and those of the retention', async () => {
    for (let count = 0; count < 6; count += 1) await app.post(`${path}/test`, undefined);
    await addPets(app, ...Array.from({ length: 48 }, (_, at) => `Rex ${at}`));
    await received(app, receiver, 54);
    await until(async () => {
      await tick(app);
      return (await app.get(path)).json.waitingSince === null;
    });
    const listed = await list();
    expect(listed.map(({ eventId }) => eventId)).toEqual([
      ...(await app.get('/v1/events?limit=100')).json.map(({ id }: any) => id).toReversed(),
      0,
      0,
    ]);
    expect(listed.at(-1)).toMatchObject({
      type: 'webhook.test',
      status: 200,
      response: 'ignored',
      error: null,
    });
    expect(await app.database.query('SELECT FROM webhook_attempts')).toHaveLength(50);
    app.clock.advance({ seconds: 7 * DAY + 1 });
    expect(await list()).toEqual([]);
  });

  it('can be repeated, also while the webhook is disabled, without effect on its state', async () => {
    await addPets(app, 'Rex', 'Mimi');
    await received(app, receiver, 2);
    await settled(app);
    await ticked(app);
    await app.send('PATCH', path, { body: { status: 'disabled' } });
    const before = (await app.get(path)).json;
    const [rex] = await createdIds();
    expect((await resend(rex)).json).toEqual({ delivered: true, error: null });
    receiver.respond = respondWith(500);
    expect((await resend(rex)).json).toEqual({ delivered: false, error: 'The response was 500.' });
    expect(receiver.deliveries.map(({ id }) => id).slice(2)).toEqual([String(rex), String(rex)]);
    expect(receiver.deliveries[2]!.body).toBe(receiver.deliveries[0]!.body);
    expect((await app.get(path)).json).toEqual(before);
    expect((await list()).map(({ status }) => status)).toEqual([500, 200, 200, 200]);
  });

  it('of a failing event can be repeated, those of later and unknown ones are 404', async () => {
    receiver.respond = respondWith(503);
    await addPets(app, 'Rex', 'Mimi');
    await failed(app, path, 1);
    const [rex, mimi] = await createdIds();
    receiver.respond = respondWith(200);
    expect((await resend(rex)).json).toEqual({ delivered: true, error: null });
    const { path: later } = await createWebhook(app, { url: receiver.url });
    expectError(await app.post(`${later}/deliveries/${rex}/resend`, undefined), 404, 'event_not_found');
    for (const id of [mimi, rex + 1, -1, 'x', '9223372036854775807', '-9223372036854775808'])
      expectError(await resend(id), 404, 'event_not_found');
  });

  it('of a test are listed by each instance as soon as it has its response', async () => {
    const beside = await startApp({ webhooksAllowPrivate: true } as GivenConfig, { beside: app });
    try {
      expect((await beside.post(`${path}/test`, undefined, { key: app.key })).status).toBe(200);
      expect(await list()).toEqual([expect.objectContaining({ type: 'webhook.test' })]);
    } finally {
      await beside.close();
    }
  });

  it('are those of the account', async () => {
    const { key } = await app.createKey();
    await addPets(app, 'Rex');
    await received(app, receiver, 1);
    const [rex] = await createdIds();
    expectError(await app.get(`${path}/deliveries`, { key }), 404, 'webhook_not_found');
    expectError(await resend(rex, { key }), 404, 'webhook_not_found');
  });

  it('end with the webhook', async () => {
    await app.post(`${path}/test`, undefined);
    expect(await list()).toHaveLength(1);
    await app.post(`${path}/test`, undefined);
    await app.send('DELETE', path);
    await tick(app);
    expect(await app.database.query('SELECT FROM webhook_attempts')).toEqual([]);
  });
});
