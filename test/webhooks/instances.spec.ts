import { startApp, type TestApp } from '../support/app';
import type { GivenConfig } from '../../src/app/build';
import { until } from '../support/until';
import {
  addPets,
  createWebhook,
  received,
  type Receiver,
  respondWith,
  settled,
  startReceiver,
  tick,
  ticked,
} from './support/receivers';

const SETTINGS: GivenConfig = { webhooksAllowPrivate: true };

/** A turn that waits for the lock, and a webhook whose turn has ended. */
const WAITS = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%next_webhook_event%' AND datname = current_database()`;
const ENDED = 'SELECT FROM webhooks WHERE id = $1 AND last_delivery_at IS NOT NULL';

describe('deliveries of instances', () => {
  let app: TestApp;
  let receiver: Receiver;
  beforeEach(async () => {
    app = await startApp(SETTINGS);
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await receiver.close();
    await app.close();
  });

  it('have no parallel ones of the same webhook in two instances', async () => {
    const other = await startApp(SETTINGS, { beside: app });
    let running = 0;
    let most = 0;
    receiver.respond = (response) => {
      running += 1;
      most = Math.max(most, running);
      setImmediate(() => {
        running -= 1;
        response.end();
      });
    };
    await createWebhook(app, { url: receiver.url });
    const names = Array.from({ length: 20 }, (_, at) => String(at));
    for (const name of names) {
      await addPets(app, name);
      await Promise.all([tick(app), tick(other)]);
    }
    await until(() => receiver.deliveries.length >= names.length);
    await settled(app);
    await other.close();
    expect([most, receiver.seen()]).toEqual([1, names]);
  });

  it('continue when the lease of an instance has ended that was killed', async () => {
    const { id } = await createWebhook(app, { url: receiver.url });
    const lease = new Date(app.clock.now() + 30_000);
    await app.database.query('UPDATE webhooks SET due_at = $2 WHERE id = $1', [id, lease]);
    await addPets(app, 'a');
    await tick(app);
    await ticked(app);
    app.clock.advance({ seconds: 29 });
    await tick(app);
    expect(receiver.connections()).toBe(0);
    await ticked(app);
    app.clock.advance({ seconds: 1 });
    await received(app, receiver, 1);
  });

  it('have no effect if the lease has ended before the response', async () => {
    const other = await startApp(SETTINGS, { beside: app });
    let end = () => undefined as unknown;
    receiver.respond = (response) => {
      end = () => response.writeHead(500).end();
      receiver.respond = respondWith(200);
    };
    const { path } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a', 'b');
    await received(app, receiver, 1);
    await Promise.all([ticked(app), ticked(other)]);
    app.clock.advance({ seconds: 31 });
    await received(other, receiver, 3);
    await settled(app);
    end();
    await other.close();
    await app.restart();
    expect([receiver.seen(), (await app.get(path)).json.lastError]).toEqual([['a', 'a', 'b'], null]);
  });

  it('have events that come while another instance wakes the others', async () => {
    let end = () => undefined as unknown;
    receiver.respond = (response) => {
      end = () => response.end();
      receiver.respond = respondWith(200);
    };
    const { id } = await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await received(app, receiver, 1);
    await app.post('/v1/pets', { name: 'b', categoryId: 1 });
    // On a busy machine the turn waits for longer than 2 s.
    await app.database.query("ALTER FUNCTION next_webhook_event SET lock_timeout = '1min'");
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE webhook_log IN SHARE ROW EXCLUSIVE MODE');
    end();
    await until(async () => {
      // In a transaction the first look at the sessions stays the same.
      await app.database.query('SELECT pg_stat_clear_snapshot()');
      return (await app.database.query(WAITS)).length > 0;
    });
    // The webhook is not idle yet, so the other instance has only this to write.
    await app.database.query('UPDATE webhook_log SET woken_to = (SELECT max(id) FROM events)');
    await app.database.query('COMMIT');
    await until(async () => (await app.database.query(ENDED, [id])).length === 1).catch(() => undefined);
    app.clock.advance({ seconds: 31 });
    await received(app, receiver, 2);
    expect([...new Set(receiver.seen())]).toEqual(['a', 'b']);
  });

  it('have those of webhooks that the version before creates', async () => {
    const { id } = await createWebhook(app, { url: receiver.url });
    await app.database.query(
      `INSERT INTO webhooks (account_id, url, types, secret, created_at, updated_at, position, due_at)
       SELECT account_id, url, types, secret, created_at, updated_at, position, due_at FROM webhooks WHERE id = $1`,
      [id],
    );
    await addPets(app, 'a');
    await received(app, receiver, 2);
    await settled(app);
    await until(async () => (await app.database.query('SELECT FROM webhooks WHERE is_idle')).length === 2);
    await addPets(app, 'b');
    await received(app, receiver, 4);
    expect(receiver.seen()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('are not begun during a stop, and a running one is repeated by the next start', async () => {
    receiver.respond = () => undefined;
    await createWebhook(app, { url: receiver.url });
    await addPets(app, 'a');
    await received(app, receiver, 1);
    await app.restart(async () => {
      receiver.respond = respondWith(200);
      await settled(app);
    });
    await received(app, receiver, 2);
    await settled(app);
    expect(receiver.seen()).toEqual(['a', 'a']);
  });
});
