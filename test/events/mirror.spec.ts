import { Client } from 'pg';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { followHistories, Mirror, type Store } from './support/mirror';

/** test/long/crashes has more. */
const ROUNDS = 2;

describe('the example mirror', () => {
  let apps: TestApp[];
  let store: Store;
  beforeAll(async () => {
    const first = await startApp();
    apps = [await startApp({}, { beside: first }), first];
    const urls = apps.map(({ url }) => url);
    store = { urls, key: await first.unlimitedKey(), query: (text) => first.database.query(text) };
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
  });

  it('has no older state of an animal while transactions hold back the events of what it has read', async () => {
    const [app] = apps as [TestApp];
    const { id } = (await app.post('/v1/pets', aNewPet({ categoryId: 0 }))).json;
    const clients: Client[] = [];
    for (const version of [1, 2]) {
      const client = new Client({ connectionString: app.database.directUrl });
      await client.connect();
      await client.query('BEGIN; SELECT pg_current_xact_id()');
      clients.push(client);
      await app.send('PATCH', `/v1/pets/${id}`, { body: { categoryId: version } });
    }
    const mirror = new Mirror(store);
    try {
      mirror.start();
      await mirror.follow((copy) => copy !== undefined);
      for (const client of clients) {
        const { next } = mirror.read()!;
        await client.query('COMMIT');
        await client.end();
        await mirror.follow((copy) => copy!.next !== next);
        expect(mirror.read()!.pets[id]).toMatchObject({ categoryId: 2 });
      }
    } finally {
      await mirror.end();
    }
  });

  it(`equals the tables after each of ${ROUNDS} random histories over two instances with a kill, and never shows an older state`, async () => {
    expect(await followHistories(store, ROUNDS)).toBe(ROUNDS);
  });
});
