import { expectError } from '../support/expect-error';
import { addPets, createWebhook, PATH, startShop } from './support/receivers';

const PETS = ['pet.created', 'pet.updated', 'pet.deleted'];
const ORDERS = ['order.placed', 'order.approved', 'order.delivered', 'order.cancelled'];
const ALL = ['pets:read', 'orders:read'];

describe('webhooks of a key that may read only some events', () => {
  const shop = startShop();

  const keyWith = async (...scopes: string[]) =>
    (await shop.app.createKey({ account: shop.account, scopes: ['webhooks:manage', ...scopes] })).key;
  const create = (key: string, types?: unknown) =>
    createWebhook(shop.app, { url: shop.receiver.url, types }, { key });
  const update = (key: string, path: string, body: object) => shop.app.send('PATCH', path, { key, body });

  /** Changes an animal and orders it. @returns the types of all deliveries */
  async function change(): Promise<string[]> {
    const { app, receiver, key } = shop;
    const { id } = (await app.post('/v1/pets', { name: 'Rex', categoryId: 1 }, { key })).json;
    await app.post('/v1/store/orders', { petId: id }, { key });
    await addPets(app);
    await app.runDueWork();
    return receiver.deliveries.map(({ body }) => JSON.parse(body).type);
  }

  it.each([
    ['pets:read', PETS, ['pet.created', 'pet.updated']],
    ['orders:read', ORDERS, ['order.placed']],
    ['orders:manage', ORDERS, ['order.placed']],
    ['pets:manage', [], []],
    ['pets:read orders:read', null, ['pet.created', 'pet.updated', 'order.placed']],
  ])('have with the scopes %s the types %j, and no other events', async (scopes, types, sent) => {
    const key = await keyWith(...scopes.split(' '));
    const { path, types: created } = await create(key);
    expect([created, (await shop.app.get(path, { key })).json.types]).toEqual([types, types]);
    expect(await change()).toEqual(sent);
    expect((await create(key, null)).types).toEqual(types);
  });

  it('are 403 with types that the key may not read', async () => {
    const { app, receiver } = shop;
    const [pets, orders, none] = [await keyWith('pets:read'), await keyWith('orders:read'), await keyWith()];
    const { path } = await create(orders);
    for (const [key, types, scope] of [
      [pets, ['pet.created', 'order.placed'], 'orders:read orders:manage'],
      [orders, ['pet.created'], 'pets:read'],
      [none, ['pet.created'], 'pets:read'],
    ] as const) {
      const created = await app.post(PATH, { url: receiver.url, types }, { key });
      for (const response of [created, await update(key, path, { types })]) {
        expectError(response, 403, 'insufficient_scope');
        expect(response.headers['www-authenticate']).toContain(`scope="${scope}"`);
      }
    }
    expect((await app.get(PATH, { key: pets })).json).toMatchObject([{ types: ORDERS }]);
  });

  it('lose the types that the last key to change them may not read', async () => {
    const [all, pets, none] = [await keyWith(...ALL), await keyWith('pets:read'), await keyWith()];
    const { path, secret: _, ...created } = await create(all);
    const typesAfter = async (key: string, body: object) => (await update(key, path, body)).json.types;
    expect(await typesAfter(pets, { status: 'active' })).toEqual(PETS);
    expect((await shop.app.get(path, { key: all })).json).toEqual({ ...created, types: PETS });
    expect(await typesAfter(all, { types: null })).toBeNull();
    expect(await typesAfter(pets, { types: null })).toEqual(PETS);
    await update(all, path, { types: ['pet.created', 'order.placed'] });
    expect(await typesAfter(pets, { url: `${shop.receiver.url}&b=2` })).toEqual(['pet.created']);
    expect(await typesAfter(none, { url: shop.receiver.url })).toEqual([]);
    expect(await change()).toEqual([]);
    expect(await typesAfter(all, { status: 'active' })).toEqual([]);
    await update(all, path, { types: ['order.placed'] });
    expect(await change()).toEqual(['order.placed']);
  });
});
