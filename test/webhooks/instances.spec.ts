import type { ServerResponse } from 'node:http';
import { settle } from '../events/support/feed';
import { startApp } from '../support/app';
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

  it('are not repeated if the webhook is activated that is active, while one runs', async () => {
    const { app, receiver } = shop;
    const other = await startApp(SETTINGS, { beside: app });
    const end = holdNext();
    const { path } = await shop.create();
    await addPets(app, 'a');
    const work = app.runDueWork();
    await receiver.received(1);
    await shop.update(path, { status: 'active' });
    await other.runDueWork();
    end();
    await work;
    await other.close();
    expect(receiver.seen()).toEqual(['a']);
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

  it('continue from an event that waits if the types change', async () => {
    const { app, receiver } = shop;
    const { path } = await shop.create();
    await shop.update(path, { status: 'disabled' });
    await addPets(app, 'a');
    await shop.update(path, { types: ['pet.created'], status: 'active' });
    await addPets(app, 'b');
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['a', 'b']);
  });

  it('include a type that was added while the last event of a batch was sent', async () => {
    const { app, receiver } = shop;
    const { path } = await shop.create({ types: ['pet.created'] });
    const names = Array.from({ length: 20 }, (_, at) => `of a batch ${at}`);
    await addPets(app, ...names);
    const change = async (response: ServerResponse) => {
      await shop.update(path, { types: ['pet.created', 'pet.deleted'] });
      await app.database.query("DELETE FROM pets WHERE name = 'of a batch 0'");
      await settle(app);
      response.writeHead(200).end();
    };
    receiver.respond = (response) =>
      receiver.deliveries.length === 20 ? void change(response) : response.writeHead(200).end();
    await app.runDueWork();
    await app.runDueWork();
    expect(receiver.seen()).toEqual([...names, names[0]]);
  });
});
