import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { scrape, valueOf } from '../support/metrics';
import { until } from '../support/until';
import {
  addPets,
  createWebhook,
  failed,
  PATH,
  received,
  type Receiver,
  respondWith,
  settled,
  startReceiver,
  ticked,
} from './support/receivers';

const SETTINGS: GivenConfig = { webhooksAllowPrivate: true, metricsPort: 0 };
const HOUR = 3_600;

describe('events that wait for their delivery', () => {
  let app: TestApp;
  let receiver: Receiver;
  const state = async (path: string) => (await app.get(path)).json;
  beforeEach(async () => {
    app = await startApp(SETTINGS);
    receiver = await startReceiver();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await receiver.close();
    await app.close();
  });

  it('are shown by the time of the oldest, in the webhook and in the metrics', async () => {
    receiver.respond = respondWith(503);
    const { path } = await createWebhook(app, { url: receiver.url, types: ['pet.created'] });
    const { path: disabled } = await createWebhook(app, { url: receiver.url });
    await app.send('PATCH', disabled, { body: { status: 'disabled' } });
    await addPets(app, 'a', 'b');
    await failed(app, path, 1);
    const [{ createdAt: first }, { createdAt: second }] = (await app.get('/v1/events')).json;
    const waiting = async () => (await app.get(PATH)).json.map((each: any) => each.waitingSince);
    // The wake comes with the next tick.
    await until(async () => (await waiting()).every((each: unknown) => each !== null));
    expect(await waiting()).toEqual([first, first]);
    expect(valueOf(await scrape(app), 'animal_store_webhooks_waiting')).toBe(1);
    expect(valueOf(await scrape(app), 'animal_store_webhook_oldest_event_seconds')).toBeGreaterThan(0);
    receiver.respond = (response, { id }) =>
      respondWith(receiver.deliveries[1]!.id === id ? 200 : 503)(response, receiver.deliveries[0]!);
    await app.send('PATCH', path, { body: { status: 'active' } });
    await received(app, receiver, 3);
    await failed(app, path, 1);
    expect(await waiting()).toEqual([second, first]);
    receiver.respond = respondWith(200);
    for (const each of [path, disabled]) await app.send('PATCH', each, { body: { status: 'active' } });
    await received(app, receiver, 6);
    await settled(app);
    expect(await waiting()).toEqual([null, null]);
    expect(valueOf(await scrape(app), 'animal_store_webhooks_waiting')).toBe(0);
  });

  /** Holds the measured time: a turn, and the retry on another connection, have a second or two. */
  const holdTime = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now());

  it('share a connection during a turn, which ends after 19 events', async () => {
    const { path } = await createWebhook(app, { url: receiver.url });
    await app.send('PATCH', path, { body: { status: 'disabled' } });
    const names = Array.from({ length: 25 }, (_, at) => String(at));
    await addPets(app, ...names);
    holdTime();
    await app.send('PATCH', path, { body: { status: 'active' } });
    await received(app, receiver, 25);
    await settled(app);
    expect([receiver.seen(), receiver.connections()]).toEqual([names, 2]);
  });

  it('are delivered although the receiver has closed the connection that was kept', async () => {
    const used = new WeakSet();
    receiver.respond = (response) => {
      const socket = response.socket!;
      if (used.has(socket)) socket.destroy();
      else response.end();
      used.add(socket);
    };
    const { path } = await createWebhook(app, { url: receiver.url });
    await app.send('PATCH', path, { body: { status: 'disabled' } });
    await addPets(app, 'a', 'b', 'c');
    holdTime();
    await app.send('PATCH', path, { body: { status: 'active' } });
    await received(app, receiver, 3);
    await until(async () => new Set(receiver.seen()).size === 3);
    await settled(app);
    expect([...new Set(receiver.seen())]).toEqual(['a', 'b', 'c']);
    expect(app.log.filter((line) => line.includes(' fails. '))).toEqual([]);
    expect(await state(path)).toMatchObject({ status: 'active', lastError: null });
  });

  it.each([
    ['a lease that no instance can have', 0, 3_600],
    ['a pause that is longer than any', 3, 9 * HOUR],
  ])('are due after %s', async (_what, attempts, seconds) => {
    const { path } = await createWebhook(app, { url: receiver.url });
    const due = new Date(app.clock.now() + seconds * 1_000);
    await app.database.query('UPDATE webhooks SET attempts = $1, due_at = $2', [attempts, due]);
    await addPets(app, 'a');
    await received(app, receiver, 1);
    await until(async () => (await state(path)).lastDeliveryAt !== null);
    await settled(app);
    await ticked(app);
    await app.database.query("UPDATE webhooks SET due_at = due_at + interval '20.000001 s'");
    await addPets(app, 'b');
    await app.send('PATCH', path, { body: { status: 'active' } });
    await received(app, receiver, 2);
    expect(receiver.seen()).toEqual(['a', 'b']);
  });
});
