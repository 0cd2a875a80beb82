import type { GivenConfig } from '../../src/app/build';
import { AccountsService } from '../../src/accounts';
import { startApp, type TestApp } from '../support/app';
import { scrape } from '../support/metrics';
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
  verified,
} from './support/receivers';

const SETTINGS: GivenConfig = { webhooksAllowPrivate: true };
const HOUR = 3_600;
const DAY = 24 * HOUR;

describe('deliveries of a webhook', () => {
  let app: TestApp;
  let receiver: Receiver;
  const state = async (path: string) => (await app.get(path)).json;
  /** Counts the webhooks whose next delivery is not now. */
  const leases = async () =>
    (await app.database.query('SELECT FROM webhooks WHERE due_at > $1', [new Date(app.clock.now())])).length;
  beforeEach(async () => {
    app = await startApp({ ...SETTINGS, metricsPort: 0 });
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await receiver.close();
    await app.close();
  });

  it('are POSTs with the events since its creation, signed by Standard Webhooks, the body as in the feed', async () => {
    await addPets(app, 'early');
    const { secret, path } = await createWebhook(app, { url: receiver.url });
    const exact = '{"name":"☃ \\"Rex","categoryId":9007199254740993}';
    await app.post('/v1/pets', exact);
    await app.send('DELETE', '/v1/pets/1');
    await received(app, receiver, 2);
    await settled(app);
    const feed = (await app.get('/v1/events')).json.slice(1);
    const bodies = receiver.deliveries.map((delivery) => verified(app, secret, delivery));
    expect(bodies).toEqual(feed);
    expect(receiver.deliveries[0]!.body).toContain('"categoryId":9007199254740993');
    const { headers } = receiver.deliveries[0]!;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'animal-store',
      'webhook-id': String(feed[0].id),
      'webhook-timestamp': String(app.clock.now() / 1_000),
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
    });
    const lastDeliveryAt = new Date(app.clock.now()).toISOString();
    expect(await state(path)).toMatchObject({ status: 'active', lastDeliveryAt, lastError: null });
    expect((await scrape(app)).text).toMatch(
      /^animal_store_webhook_deliveries_total{account="account \d+",outcome="delivered"} 2$/m,
    );
  });

  it('are those of its types, and of animals and the orders of its account', async () => {
    const others = await app.createKey();
    const { path } = await createWebhook(app, { url: receiver.url, types: ['order.placed', 'pet.deleted'] });
    await addPets(app, 'a', 'b', 'c');
    await app.post('/v1/store/orders', { petId: 1 }, { key: others.key });
    await app.post('/v1/store/orders', { petId: 2 });
    await app.send('DELETE', '/v1/pets/3');
    await received(app, receiver, 2);
    await settled(app);
    const types = () => receiver.deliveries.map(({ body }) => JSON.parse(body).type);
    expect(types()).toEqual(['order.placed', 'pet.deleted']);
    expect(receiver.seen('petId')).toEqual([2, undefined]);
    // Events of new types begin with the change.
    await addPets(app, 'unseen');
    await app.send('PATCH', path, { body: { types: null } });
    await addPets(app, 'd');
    await received(app, receiver, 3);
    await settled(app);
    expect(types()).toEqual(['order.placed', 'pet.deleted', 'pet.created']);
    expect(receiver.seen().at(-1)).toBe('d');
  });

  it('are repeated in order after growing pauses, and the webhook is disabled after three days of failures', async () => {
    receiver.respond = respondWith(503);
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a', 'b');
    const pauses = [];
    let attempts = 1;
    await failed(app, path, 1);
    const failing = await state(path);
    expect(failing).toMatchObject({
      status: 'failing',
      lastError: 'The response was 503.',
      lastDeliveryAt: null,
    });
    const begin = app.clock.now();
    for (let waited = 0; waited < 3 * DAY && (await state(path)).status === 'failing';) {
      const [row] = await app.database.query<{ due: Date }>('SELECT due_at AS due FROM webhooks');
      const seconds = (row!.due.getTime() - app.clock.now()) / 1_000;
      await ticked(app);
      app.clock.advance({ seconds: seconds - 1 });
      await tick(app);
      expect(receiver.deliveries).toHaveLength(attempts);
      app.clock.advance({ seconds: 1 });
      pauses.push(seconds);
      waited += seconds;
      attempts += 1;
      await failed(app, path, attempts);
    }
    expect(app.clock.now() - begin).toBe(3 * DAY * 1_000);
    expect(pauses[0]).toBeGreaterThanOrEqual(5);
    expect(pauses[0]).toBeLessThanOrEqual(6);
    expect(Math.max(...pauses)).toBe(8 * HOUR);
    expect(attempts).toBeGreaterThan(10);
    expect(await state(path)).toMatchObject({ status: 'disabled' });
    const warnings = app.log.filter((line) => line.includes('The webhook 1 of the account account'));
    expect(warnings.map((line) => JSON.parse(line).msg)).toEqual([
      expect.stringMatching(/ fails\. The service retries\. Error: The response was 503\.$/),
      expect.stringMatching(/ is disabled\. Last error: The response was 503\.$/),
    ]);
    const metric = 'animal_store_webhook_deliveries_total{account=';
    const series = (await scrape(app)).text.split('\n').filter((line) => line.startsWith(metric));
    expect(series.map((line) => line.replace(/.*outcome="(\w+)"} /, '$1 '))).toEqual([
      `failed ${attempts - 1}`,
      'disabled 1',
    ]);
    // Nothing is lost.
    receiver.respond = respondWith(200);
    receiver.deliveries.length = 0;
    await app.send('PATCH', path, { body: { status: 'active' } });
    await received(app, receiver, 2);
    await settled(app);
    expect(receiver.seen()).toEqual(['a', 'b']);
    expect(await state(path)).toMatchObject({ status: 'active', lastError: null });
  });

  it('continue after failures if the clock of this machine jumps four days ahead', async () => {
    receiver.respond = respondWith(503);
    // To the time of the database.
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await failed(app, path, 1);
    await ticked(app);
    app.clock.advance({ seconds: 4 * DAY });
    await failed(app, path, 2);
    const { status, nextAttemptAt } = await state(path);
    expect([status, Date.parse(nextAttemptAt) > app.clock.now()]).toEqual(['failing', true]);
    await ticked(app);
    await app.database.query(`UPDATE webhooks SET failing_since = failing_since - interval '4 days'`);
    app.clock.advance({ seconds: DAY });
    await failed(app, path, 3);
    expect((await state(path)).status).toBe('disabled');
  });

  it('wait while the account is disabled', async () => {
    const accounts = app.nest.get(AccountsService, { strict: false });
    const { key } = await app.createKey({ account: 'shop' });
    await createWebhook(app, { url: receiver.url }, { key });
    await accounts.setDisabled('shop', true);
    await addPets(app, 'a');
    await tick(app);
    expect(await leases()).toBe(0);
    await accounts.setDisabled('shop', false);
    await received(app, receiver, 1);
  });

  it.each(['account', 'webhook'])(
    'stop when the %s is disabled, although events are left, and continue immediately when it is enabled',
    async (what) => {
      const accounts = app.nest.get(AccountsService, { strict: false });
      const { key } = await app.createKey({ account: 'shop' });
      const { path } = await createWebhook(app, { url: receiver.url }, { key });
      const set = async (isDisabled: boolean) => {
        const body = { status: isDisabled ? 'disabled' : 'active' };
        await (what === 'account'
          ? accounts.setDisabled('shop', isDisabled)
          : app.send('PATCH', path, { key, body }));
      };
      receiver.respond = (response) => void set(true).then(() => response.writeHead(200).end());
      await addPets(app, 'a', 'b');
      await received(app, receiver, 1);
      await settled(app);
      expect(receiver.seen()).toEqual(['a']);
      receiver.respond = respondWith(200);
      await set(false);
      await received(app, receiver, 2);
      await settled(app);
      expect(receiver.seen()).toEqual(['a', 'b']);
    },
  );

  it('have the events of a database of another cluster, also long after the last event', async () => {
    await addPets(app, 'early');
    await app.database.query('UPDATE event_log SET shift = shift + (1 << 25)');
    await createWebhook(app, { url: receiver.url });
    await app.database.query("UPDATE event_log SET cluster = 'another'");
    await app.restart();
    await addPets(app, 'a');
    await received(app, receiver, 1);
    await settled(app);
    expect(receiver.seen()).toEqual(['a']);
  });

  it('skip events that no reader gets', async () => {
    const { path } = await createWebhook(app, { url: receiver.url });
    const set = (status: string) => app.send('PATCH', path, { body: { status } });
    // Else a tick could deliver the event before it is removed.
    await set('disabled');
    await addPets(app, 'a');
    await app.database.query('UPDATE event_log SET removed_to = (SELECT max(id) FROM events)');
    await set('active');
    await tick(app);
    await settled(app);
    expect(receiver.connections()).toBe(0);
    await addPets(app, 'b');
    await received(app, receiver, 1);
    expect(receiver.seen()).toEqual(['b']);
  });

  it('send a test immediately, and tell its outcome', async () => {
    const { secret, path } = await createWebhook(app, { url: receiver.url });
    await app.send('PATCH', path, { body: { status: 'disabled' } });
    expect((await app.post(`${path}/test`, undefined)).json).toEqual({ delivered: true, error: null });
    const [delivery] = receiver.deliveries;
    const createdAt = new Date(app.clock.now()).toISOString();
    const data = { id: 1, status: 'active' };
    expect(verified(app, secret, delivery!)).toEqual({ id: 0, type: 'webhook.test', createdAt, data });
    receiver.respond = respondWith(500);
    const error = 'The response was 500.';
    expect((await app.post(`${path}/test`, undefined)).json).toEqual({ delivered: false, error });
    expect(new Set(receiver.deliveries.map(({ id }) => id)).size).toBe(2);
  });
});
