import { EventsRepository } from '../../src/events';
import { readerFromNow } from '../events/support/feed';
import { followDatabase } from '../support/clock';
import { scrape, valueOf } from '../support/metrics';
import { addPets, respondWith, startReceiver, startShop, verified } from './support/receivers';

const HOUR = 3_600;
const DAY = 24 * HOUR;

describe('deliveries of a webhook', () => {
  const shop = startShop();

  /** The outcomes of the deliveries of the account, with their counts. */
  const counts = async () => {
    const series = `animal_store_webhook_deliveries_total{account="${shop.account}",outcome="`;
    const lines = (await scrape(shop.app)).text.split('\n').filter((line) => line.startsWith(series));
    return lines.map((line) => line.slice(series.length).replace('"}', ''));
  };

  it('are POSTs with the events since its creation, signed by Standard Webhooks, the body as in the feed', async () => {
    const { app, receiver } = shop;
    const [early] = await addPets(app, 'early');
    const { secret, path } = await shop.create();
    const read = await readerFromNow(app);
    await app.post('/v1/pets', '{"name":"☃ \\"Rex","categoryId":9007199254740993}');
    await app.send('DELETE', `/v1/pets/${early}`);
    await addPets(app);
    await app.runDueWork();
    const feed = await read();
    expect(receiver.deliveries.map((delivery) => verified(app, secret, delivery))).toEqual(feed);
    expect(receiver.deliveries[0]!.body).toContain('"categoryId":9007199254740993');
    expect(receiver.deliveries[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'animal-store',
      'webhook-id': String(feed[0]!.id),
      'webhook-timestamp': String(Math.floor(app.clock.now() / 1_000)),
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
    });
    const lastDeliveryAt = new Date(app.clock.now()).toISOString();
    expect(await shop.state(path)).toMatchObject({ status: 'active', lastDeliveryAt, lastError: null });
    expect(await counts()).toEqual(['delivered 2']);
  });

  it('are those of its types, and of animals and the orders of its account', async () => {
    const { app, receiver } = shop;
    const { path } = await shop.create({ types: ['order.placed', 'pet.deleted'] });
    const [theirs, ours, removed] = await addPets(app, 'a', 'b', 'c');
    const orders = [
      await app.post('/v1/store/orders', { petId: theirs }),
      await app.post('/v1/store/orders', { petId: ours }, { key: shop.key }),
    ];
    await app.send('DELETE', `/v1/pets/${removed}`);
    await addPets(app);
    await app.runDueWork();
    const types = () => receiver.deliveries.map(({ body }) => JSON.parse(body).type);
    expect(types()).toEqual(['order.placed', 'pet.deleted']);
    expect(receiver.seen('petId')).toEqual([ours, undefined]);
    // Events of new types begin with the change.
    for (const { json } of orders)
      await app.send('PATCH', `/v1/store/orders/${json.id}`, { body: { status: 'cancelled' } });
    await addPets(app, 'unseen');
    await shop.update(path, { types: null });
    await addPets(app, 'd');
    await app.runDueWork();
    expect(types()).toEqual(['order.placed', 'pet.deleted', 'pet.created']);
    expect(receiver.seen().at(-1)).toBe('d');
  });

  it('are repeated in order after growing pauses, and the webhook is disabled after three days of failures without a delivery', async () => {
    const { app, receiver } = shop;
    receiver.respond = respondWith(503);
    const { path, id } = await shop.create();
    await addPets(app, 'a', 'b');
    await app.runDueWork();
    const failing = { status: 'failing', lastError: 'The response was 503.', lastDeliveryAt: null };
    expect(await shop.state(path)).toMatchObject(failing);
    const begin = app.clock.now();
    const pauses: number[] = [];
    for (let state = failing as any; state.status === 'failing'; state = await shop.state(path)) {
      const [row] = await app.database.query('SELECT due_at FROM webhooks WHERE id = $1', [id]);
      pauses.push((row!.due_at.getTime() - app.clock.now()) / 1_000);
      app.clock.advance({ seconds: pauses.at(-1)! - 1 });
      await app.runDueWork();
      expect(receiver.deliveries).toHaveLength(pauses.length);
      app.clock.advance({ seconds: 1 });
      await app.runDueWork();
      expect(receiver.deliveries).toHaveLength(pauses.length + 1);
    }
    expect(app.clock.now() - begin).toBe(3 * DAY * 1_000);
    expect(pauses[0]).toBeGreaterThanOrEqual(5);
    expect(pauses[0]).toBeLessThanOrEqual(6);
    expect(Math.max(...pauses)).toBe(8 * HOUR);
    expect(pauses.length).toBeGreaterThan(9);
    expect(await shop.state(path)).toMatchObject({ status: 'disabled' });
    const warnings = app.log.filter((line) =>
      line.includes(`The webhook ${id} of the account ${shop.account}`),
    );
    expect(warnings.map((line) => JSON.parse(line).msg)).toEqual([
      expect.stringMatching(/ fails\. The service retries\. Error: The response was 503\.$/),
      expect.stringMatching(/ is disabled\. Last error: The response was 503\.$/),
    ]);
    expect(await counts()).toEqual([`failed ${pauses.length}`, 'disabled 1']);
    // Nothing is lost.
    await shop.update(path, { status: 'active' });
    await app.runDueWork();
    receiver.respond = respondWith(200);
    receiver.deliveries.length = 0;
    app.clock.advance({ seconds: 6 });
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a', 'b']);
    expect(await shop.state(path)).toMatchObject({ status: 'active', lastError: null });
    // A delivery ends the days of failures.
    receiver.respond = respondWith(503);
    app.clock.advance({ seconds: 3 * DAY });
    await addPets(app, 'c');
    await app.runDueWork();
    expect((await shop.state(path)).status).toBe('failing');
  });

  it.each(['account', 'webhook'])(
    'wait while the %s is disabled, also if events are left, and continue immediately when it is enabled',
    async (what) => {
      const { app, receiver } = shop;
      const { path } = await shop.create();
      const set = (isDisabled: boolean) =>
        what === 'account'
          ? app.send('PATCH', `/v1/accounts/${shop.account}`, { body: { disabled: isDisabled } })
          : app.send('PATCH', path, { key: shop.key, body: { status: isDisabled ? 'disabled' : 'active' } });
      await set(true);
      await addPets(app, 'a', 'b');
      await app.runDueWork();
      expect(receiver.connections()).toBe(0);
      receiver.respond = (response) => void set(true).then(() => response.writeHead(200).end());
      await set(false);
      await app.runDueWork();
      expect(receiver.seen()).toEqual(['a']);
      receiver.respond = respondWith(200);
      await set(false);
      await app.runDueWork();
      expect(receiver.seen()).toEqual(['a', 'b']);
    },
  );

  it('skip events that no reader gets', async () => {
    const { app, receiver } = shop;
    const { path } = await shop.create();
    // Else a tick could deliver the event before it is removed.
    await shop.update(path, { status: 'disabled' });
    await addPets(app, 'a');
    await app.database.query('UPDATE event_log SET removed_to = (SELECT max(id) FROM events)');
    await shop.update(path, { status: 'active' });
    await app.runDueWork();
    expect(receiver.connections()).toBe(0);
    await addPets(app, 'b');
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['b']);
  });

  it('send a test immediately, and tell its outcome', async () => {
    const { app, receiver } = shop;
    const { secret, path, id } = await shop.create();
    await shop.update(path, { status: 'disabled' });
    expect(await shop.test(path)).toEqual({ delivered: true, error: null });
    const createdAt = new Date(app.clock.now()).toISOString();
    const sent = { id: 0, type: 'webhook.test', createdAt, data: { id, status: 'active' } };
    expect(verified(app, secret, receiver.deliveries[0]!)).toEqual(sent);
    receiver.respond = respondWith(500);
    expect(await shop.test(path)).toEqual({ delivered: false, error: 'The response was 500.' });
    expect(new Set(receiver.deliveries.map((each) => each.id)).size).toBe(2);
  });

  it('that wait are shown by the time of the oldest event, in the webhook and in the metrics', async () => {
    const { app, receiver } = shop;
    const metric = async () => valueOf(await scrape(app), 'animal_store_webhook_oldest_event_seconds');
    const waiting = async () =>
      (await app.get('/v1/webhooks', { key: shop.key })).json.map((each: any) => each.waitingSince);
    receiver.respond = respondWith(503);
    const { path } = await shop.create({ types: ['pet.created'] });
    const { path: disabled } = await shop.create();
    await shop.update(disabled, { status: 'disabled' });
    const read = await readerFromNow(app);
    await addPets(app, 'a', 'b');
    await app.runDueWork();
    const [first, second] = (await read()).map(({ createdAt }) => createdAt);
    expect(await waiting()).toEqual([first, first]);
    expect(await metric()).toBeGreaterThan(0);
    const { id } = receiver.deliveries[0]!;
    receiver.respond = (response, delivery) =>
      respondWith(delivery.id === id ? 200 : 503)(response, delivery);
    await shop.update(path, { status: 'active' });
    await app.runDueWork();
    expect(await waiting()).toEqual([second, first]);
    receiver.respond = respondWith(200);
    for (const each of [path, disabled]) await shop.update(each, { status: 'active' });
    await app.runDueWork();
    expect(receiver.deliveries).toHaveLength(6);
    expect(await waiting()).toEqual([null, null]);
    expect(await metric()).toBe(0);
  });

  it.each([
    [0, 'for all events', 1],
    [900, 'for a turn of 2 s', 9],
  ])('that take %i ms each share a connection %s', async (ms, _what, connections) => {
    const { app, receiver } = shop;
    const { path } = await shop.create();
    await shop.update(path, { status: 'disabled' });
    const names = Array.from({ length: 25 }, (_, at) => String(at));
    await addPets(app, ...names);
    const begin = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => begin + receiver.deliveries.length * ms);
    await shop.update(path, { status: 'active' });
    await app.runDueWork();
    expect([receiver.seen(), receiver.connections()]).toEqual([names, connections]);
  });

  it('are not sent to the URL that a webhook had before they begin', async () => {
    const { app, receiver } = shop;
    const other = await startReceiver();
    const { path } = await shop.create();
    jest.spyOn(EventsRepository.prototype, 'read').mockImplementationOnce(async function (
      this: EventsRepository,
      ...parameters
    ) {
      await shop.update(path, { url: other.url });
      return this.read(...parameters);
    });
    // From now on a delivery may begin at any time.
    await addPets(app, 'a');
    await app.runDueWork();
    await other.close();
    expect([receiver.connections(), other.seen()]).toEqual([0, ['a']]);
  });

  it.each([
    ['a lease that no instance can have', 0, false, HOUR],
    ['such a lease of a slow webhook', 0, true, HOUR],
    ['a pause that is longer than any', 3, false, 9 * HOUR],
  ])('are due after %s', async (_what, attempts, isSlow, seconds) => {
    const { app, receiver } = shop;
    const { path } = await shop.create();
    const due = new Date(app.clock.now() + seconds * 1_000);
    await app.database.query('UPDATE webhooks SET attempts = $1, is_slow = $2, due_at = $3', [
      attempts,
      isSlow,
      due,
    ]);
    await addPets(app, 'a');
    await app.runDueWork();
    expect((await shop.state(path)).lastDeliveryAt).not.toBeNull();
    await app.database.query("UPDATE webhooks SET attempts = 1, due_at = due_at + interval '20.000001 s'");
    await addPets(app, 'b');
    // This ends the pause.
    await shop.update(path, { status: 'active' });
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a', 'b']);
  });

  it('continue after failures if the clock of this machine jumps four days ahead', async () => {
    const { app, receiver } = shop;
    receiver.respond = respondWith(503);
    await followDatabase(app);
    const { path } = await shop.create();
    await addPets(app, 'a');
    await app.runDueWork();
    app.clock.advance({ seconds: 4 * DAY });
    await app.runDueWork();
    expect(receiver.deliveries).toHaveLength(2);
    const { status, nextAttemptAt } = await shop.state(path);
    expect([status, Date.parse(nextAttemptAt) > app.clock.now()]).toEqual(['failing', true]);
    await app.database.query(`UPDATE webhooks SET failing_since = failing_since - interval '4 days'`);
    app.clock.advance({ seconds: DAY });
    await app.runDueWork();
    expect((await shop.state(path)).status).toBe('disabled');
  });
});
