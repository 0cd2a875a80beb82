import { DEFAULT_SCOPES } from '../../src/app/store';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { followPages, idsOf } from '../support/paging.contract';

const PATH = '/v1/store/orders';

/** A key with the number of the order that its account placed. */
interface Buyer {
  readonly account: string;
  readonly key: string;
  readonly orders: number[];
}

describe('orders as buyers and staff see them', () => {
  let app: TestApp;
  let staff: string;
  const buyers: Buyer[] = [];
  beforeAll(async () => {
    // One connection: a rejection must not need a second one. The work in the background needs it, too.
    app = await startApp({ databasePoolSize: 1 });
    staff = (await app.createKey({ account: 'the store', scopes: ['orders:manage'] })).key;
    for (const account of ['shop', 'zoo & co']) {
      const { key } = await app.createKey({ account, scopes: DEFAULT_SCOPES });
      const orders = [];
      for (let at = 0; at < 5; at += 1) orders.push(await place(key));
      buyers.push({ account, key, orders });
    }
  });
  afterAll(() => app.close());

  async function place(key: string): Promise<number> {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    return (await app.post(PATH, { petId }, { key })).json.id;
  }
  const update = (key: string, id: number, status: string) =>
    app.send('PATCH', `${PATH}/${id}`, { key, body: { status } });
  const get = (key: string, path = '') => app.get(`${PATH}${path}`, { key });

  it.each(['approved', 'delivered'])(
    "403 insufficient_scope if a buyer's key sets %s, and nothing changes",
    async (status) => {
      const [{ key, orders }] = buyers as [Buyer, Buyer];
      const rejected = await update(key, orders[0]!, status);
      expectError(rejected, 403, 'insufficient_scope');
      expect(rejected.headers['www-authenticate']).toBe(
        'Bearer realm="animal-store", error="insufficient_scope", scope="orders:manage"',
      );
      expect((await get(key, `/${orders[0]}`)).json.status).toBe('placed');
      // Whether or not the order exists.
      expectError(await update(key, 4711, status), 403, 'insufficient_scope');
    },
  );

  it('staff approves, delivers and cancels orders of every account; updatedAt is the time of the change', async () => {
    for (const { key, account } of buyers) {
      const [one, other] = [await place(key), await place(key)];
      const { placedAt } = (await get(key, `/${one}`)).json;
      app.clock.advance({ seconds: 5 });
      const approved = await update(staff, one, 'approved');
      expect(approved).toMatchObject({ status: 200, json: { account, status: 'approved', placedAt } });
      expect(Date.parse(approved.json.updatedAt) - Date.parse(placedAt)).toBe(5_000);
      expect((await update(staff, one, 'delivered')).json.status).toBe('delivered');
      expect((await update(staff, other, 'cancelled')).json.status).toBe('cancelled');
    }
  });

  it('only staff sees the account of an order: in getOrder, lists and updates, never in the response of placeOrder', async () => {
    const [shop] = buyers as [Buyer, Buyer];
    const id = await place(shop.key);
    const own = await get(shop.key, `/${id}`);
    expect(own.text).not.toContain('account');
    expect((await get(shop.key)).text).not.toContain('account');
    expect((await get(staff, `/${id}`)).json).toEqual({ ...own.json, account: 'shop' });
    const all = (await get(staff, '?account=*&limit=100')).json;
    expect(new Set(all.map(({ account }: { account: string }) => account))).toEqual(
      new Set(buyers.map(({ account }) => account)),
    );
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const placed = await app.post(PATH, { petId });
    expect(placed.text).not.toContain('account');
    const headers = { 'if-match': placed.headers['etag']! };
    const path = `${PATH}/${placed.json.id}`;
    expect((await app.send('PATCH', path, { body: { status: 'cancelled' }, headers })).status).toBe(200);
  });

  it('staff lists the orders of one account by its name, of all by *, and its own without the parameter', async () => {
    for (const { account, key } of buyers) {
      await update(staff, await place(key), 'cancelled');
      const mine = await followPages(app, key, `${PATH}?limit=3`);
      const name = encodeURIComponent(account);
      expect(await followPages(app, staff, `${PATH}?limit=3&account=${name}`)).toEqual(mine);
      expect(await followPages(app, staff, `${PATH}?limit=3&account=${name}&sort=-id`)).toEqual(
        mine.toReversed(),
      );
      const placed = await followPages(app, key, `${PATH}?limit=3&status=placed`);
      expect(await followPages(app, staff, `${PATH}?limit=3&account=${name}&status=placed`)).toEqual(placed);
    }
    const stored = await app.database.query<{ id: string }>('SELECT id FROM store_orders ORDER BY id');
    const ids = stored.map(({ id }) => Number(id));
    expect(await followPages(app, staff, `${PATH}?limit=4&account=*`)).toEqual(ids);
    expect(await followPages(app, staff, `${PATH}?limit=4&account=*&sort=-id`)).toEqual(ids.toReversed());
    const cancelled = await get(staff, '?account=*&status=cancelled&limit=100');
    expect(cancelled.json.length).toBeGreaterThan(1);
    expect(new Set(cancelled.json.map(({ status }: { status: string }) => status))).toEqual(
      new Set(['cancelled']),
    );
    for (const own of ['', '?account=unknown']) expect((await get(staff, own)).text).toBe('[]');
  });

  it('403 insufficient_scope for ?account= of a buyer, even its own, before the query is validated', async () => {
    const [{ key }] = buyers as [Buyer, Buyer];
    for (const query of ['?account=shop', '?account=*', '?account=', '?account=shop&limit=0']) {
      const rejected = await get(key, query);
      expectError(rejected, 403, 'insufficient_scope');
      expect(rejected.headers['www-authenticate']).toContain('scope="orders:manage"');
    }
    expect(idsOf(await get(key))).not.toEqual([]);
  });

  it('404 order_not_found for GET, HEAD and PATCH of the order of another account, as if it did not exist', async () => {
    const [{ key, orders }] = buyers as [Buyer, Buyer];
    const { key: stranger } = await app.createKey({ scopes: DEFAULT_SCOPES });
    for (const query of ['', '?status=placed']) expect((await get(stranger, query)).text).toBe('[]');
    const fetched = await get(stranger, `/${orders[0]}`);
    expectError(fetched, 404, 'order_not_found');
    expect(fetched.text).toBe((await get(stranger, '/4711')).text);
    expect((await app.send('HEAD', `${PATH}/${orders[0]}`, { key: stranger })).status).toBe(404);
    expectError(await update(stranger, orders[0]!, 'cancelled'), 404, 'order_not_found');
    const { status, petId } = (await get(key, `/${orders[0]}`)).json;
    expect(status).toBe('placed');
    expectError(await app.post(PATH, { petId }, { key: stranger }), 409, 'pet_not_available');
  });
});
