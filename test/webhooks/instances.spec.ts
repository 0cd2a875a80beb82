import { startApp } from '../support/app';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { addPets, respondWith, SETTINGS, startShop } from './support/receivers';

describe('deliveries of instances', () => {
  const shop = startShop();

  /** Responds to the next request when the returned function is called, and to later ones immediately. */
  const holdNext = (status = 200) => {
    let end = () => undefined as unknown;
    shop.receiver.respond = (response) => {
      end = () => response.writeHead(status).end();
      shop.receiver.respond = respondWith(200);
    };
    return () => end();
  };

  it('have no parallel ones of the same webhook in two instances', async () => {
    const { app, receiver } = shop;
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
    await shop.create();
    const names = Array.from({ length: 8 }, (_, at) => String(at));
    for (const name of names) {
      await addPets(app, name);
      await Promise.all([app.runDueWork(), other.runDueWork()]);
    }
    await other.close();
    expect([most, receiver.seen()]).toEqual([1, names]);
  });

  it('continue when the lease of an instance has ended that was killed', async () => {
    const { app, receiver } = shop;
    const { id } = await shop.create();
    const lease = new Date(app.clock.now() + 30_000);
    await app.database.query('UPDATE webhooks SET due_at = $2 WHERE id = $1', [id, lease]);
    await addPets(app, 'a');
    await app.runDueWork();
    app.clock.advance({ seconds: 29 });
    await app.runDueWork();
    expect(receiver.connections()).toBe(0);
    app.clock.advance({ seconds: 1 });
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a']);
  });

  it('have no effect if the lease has ended before the response', async () => {
    const { app, receiver } = shop;
    const other = await startApp(SETTINGS, { beside: app });
    const end = holdNext(500);
    const { path } = await shop.create();
    await addPets(app, 'a', 'b');
    const work = app.runDueWork();
    await receiver.received(1);
    app.clock.advance({ seconds: 31 });
    await other.runDueWork();
    await receiver.received(3);
    end();
    await work;
    await other.close();
    expect([receiver.seen(), (await shop.state(path)).lastError]).toEqual([['a', 'a', 'b'], null]);
  });

  it('have events that come while another instance wakes the others', async () => {
    const { app, receiver } = shop;
    const end = holdNext();
    await shop.create();
    await addPets(app, 'a');
    const work = app.runDueWork();
    await receiver.received(1);
    await app.post('/v1/pets', { name: 'b', categoryId: 1 });
    // On a busy machine the turn waits for longer than 2 s.
    await app.database.query("ALTER FUNCTION next_webhook_event SET lock_timeout = '1min'");
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE webhook_log IN SHARE ROW EXCLUSIVE MODE');
    end();
    await until(async () => (await lockWaits(app.database)).length > 0);
    // The webhook is not idle yet, so the other instance has only this to write.
    await app.database.query('UPDATE webhook_log SET woken_to = (SELECT max(id) FROM events)');
    await app.database.query('COMMIT');
    await work;
    app.clock.advance({ seconds: 31 });
    await addPets(app);
    await app.runDueWork();
    expect([...new Set(receiver.seen())]).toEqual(['a', 'b']);
  });

  it('have those of webhooks that the version before creates', async () => {
    const { app, receiver } = shop;
    const { id } = await shop.create();
    await app.database.query(
      `INSERT INTO webhooks (account_id, url, types, secret, created_at, updated_at, position, due_at)
       SELECT account_id, url, types, secret, created_at, updated_at, position, due_at FROM webhooks WHERE id = $1`,
      [id],
    );
    for (const name of ['a', 'b']) {
      await addPets(app, name);
      await app.runDueWork();
    }
    expect(receiver.seen()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('are not begun during a stop, and a running one is repeated by the next start', async () => {
    const { app, receiver } = shop;
    receiver.respond = () => undefined;
    await shop.create();
    await addPets(app, 'a');
    const work = app.runDueWork();
    await receiver.received(1);
    await app.restart(async () => {
      receiver.respond = respondWith(200);
      await work;
    });
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a', 'a']);
  });

  it('have the events of a database of another cluster, also long after the last event', async () => {
    const { app, receiver } = shop;
    await addPets(app, 'early');
    await app.database.query('UPDATE event_log SET shift = shift + (1 << 25)');
    await shop.create();
    await app.database.query("UPDATE event_log SET cluster = 'another'");
    await app.restart();
    await addPets(app, 'a');
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a']);
  });
});
