import { DEFAULT_SCOPES } from '../../src/app/store';
import type { GivenConfig } from '../../src/app/build';
import type { Extension } from '../../src/api/extension/extension';
import { petScopes } from '../../src/pets/pets.scopes';
import { orderScopes } from '../../src/store-orders/store-orders.scopes';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets } from '../support/factories';
import { type AnimalState, explain, isLinearizable } from './support/animal-model';
import { HELD_WITHOUT_ANIMAL, walkWithAnimals } from './support/animal-walks';

const PATH = '/v1/store/orders';
const SEED = 31;
const INVALID = { status: 409, json: { code: 'invalid_transition' } };
/** Twice the connections of the pool. */
const CLIENTS = 20;

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
beforeEach(() => app.database.truncate('pets, store_orders RESTART IDENTITY CASCADE'));

describe('POST /v1/store/orders (placeOrder)', () => {
  const newPet = async (status = 'available') =>
    (await app.post('/v1/pets', aNewPet({ status }))).json.id as number;
  const statusOf = async (petId: number) => (await app.get(`/v1/pets/${petId}`)).json.status as string;

  it('201 returns the placed order at its Location and in the list, and makes its animal pending', async () => {
    const { key } = await app.createKey({ scopes: DEFAULT_SCOPES });
    const petId = await newPet();
    app.clock.advance({ seconds: 0.789 });
    const placed = await app.post(PATH, { petId }, { key });
    expect(placed.status).toBe(201);
    const { id } = placed.json;
    const at = '2026-11-21T12:00:00.789Z';
    const expiresAt = '2026-11-28T12:00:00.789Z';
    expect(placed.json).toEqual({ id, petId, status: 'placed', placedAt: at, updatedAt: at, expiresAt });
    expect(placed.headers['location']).toBe(`${PATH}/${id}`);
    expect((await app.get(placed.headers['location']!, { key })).text).toBe(placed.text);
    expect((await app.get(PATH, { key })).text).toBe(`[${placed.text}]`);
    expect(await statusOf(petId)).toBe('pending');
  });

  it.each(['pending', 'sold'])(
    '409 pet_not_available for an animal that is %s, and its status does not change',
    async (status) => {
      const petId = await newPet(status);
      expectError(await app.post(PATH, { petId }), 409, 'pet_not_available');
      expect(await statusOf(petId)).toBe(status);
      expect(await app.database.query('SELECT FROM store_orders WHERE pet_id = $1', [petId])).toEqual([]);
    },
  );

  it('409 pet_not_available if the animal has an open order, even if its status is available', async () => {
    const petId = await newPet();
    await app.post(PATH, { petId });
    await app.database.query(`UPDATE pets SET status = 'available' WHERE id = $1`, [petId]);
    expectError(await app.post(PATH, { petId }), 409, 'pet_not_available');
    expect(await statusOf(petId)).toBe('available');
  });

  it('of concurrent updates the first decides: the same status is 200 with its response, another one is 409', async () => {
    for (const statuses of [
      ['delivered', 'delivered', 'cancelled'],
      ['cancelled', 'delivered', 'cancelled'],
    ]) {
      const petId = await newPet();
      const { headers } = await app.post(PATH, { petId });
      const update = (status: string) => app.send('PATCH', headers['location']!, { body: { status } });
      await update('approved');
      const responses = await Promise.all(statuses.map(update));
      const { json, text } = await app.get(headers['location']!);
      expect(await statusOf(petId)).toBe(json.status === 'delivered' ? 'sold' : 'available');
      for (const [at, response] of responses.entries())
        expect(response).toMatchObject(statuses[at] === json.status ? { status: 200, text } : INVALID);
    }
  });

  // A short walk, always with the same requests; test/long has long ones at random.
  it('some order of the requests of concurrent buyers and staff explains their responses', async () => {
    const choice = { plan: 'enterprise', perMinute: 1e9, perDay: 1e9 } as const;
    const ofStaff = [petScopes.read, petScopes.manage, orderScopes.manage];
    const keyWith = (scopes: Required<Extension>['scopes']) => app.createKey({ scopes, choice });
    const buyers = [await keyWith(DEFAULT_SCOPES), await keyWith(DEFAULT_SCOPES)];
    const staff = [await keyWith(ofStaff), await keyWith(ofStaff)];
    await walkWithAnimals({ url: app.url, buyers, staff }, { numRuns: 1, maxSteps: 20, seed: SEED });
    expect(await app.database.query(HELD_WITHOUT_ANIMAL)).toEqual([]);
  });

  it('no order of requests explains two open orders of one animal (negative control)', () => {
    const created: AnimalState = { pet: { name: 'Rex', status: 'available' }, orders: {} };
    const order = (id: number) => ({
      begin: 1,
      end: 2,
      text: '',
      apply: (state: AnimalState) => explain(state, { kind: 'placeOrder' }, '201 placed', id),
    });
    expect(isLinearizable([order(1)], created)).toBe(true);
    expect(isLinearizable([order(1), order(2)], created)).toBe(false);
  });
});

describe('ORDERS_MAX_OPEN_PER_ACCOUNT', () => {
  let bounded: TestApp;
  afterEach(() => bounded.close());

  const start = async (ordersMaxOpenPerAccount: number) => {
    const settings: GivenConfig = { ordersMaxOpenPerAccount };
    bounded = await startApp(settings, { beside: app });
    await fillPets(app, 40);
  };
  const place = (petId: number, options = {}) => bounded.post(PATH, { petId }, options);
  const open = (count: number, status = 'placed') =>
    app.database.query(
      `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
       SELECT (SELECT max(account_id) FROM api_keys), 100 + i, $2, now() FROM generate_series(1, $1) AS i`,
      [count, status],
    );

  // Above 100 far from its bound, no order waits for another one of the account.
  it.each([
    [3, 0],
    [102, 99],
    [400, 397],
  ])('of %i: with %i open orders exactly three of concurrent ones succeed', async (bound, before) => {
    await start(bound);
    await open(before);
    await open(200, 'delivered');
    const responses = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => place(at + 1)));
    const placed = responses.filter(({ status }) => status === 201);
    expect(placed).toHaveLength(3);
    const rejected = responses.findIndex(({ status }) => status !== 201);
    expectError(responses[rejected]!, 409, 'too_many_open_orders');
    expect((await bounded.get(`/v1/pets/${rejected + 1}`)).json.status).toBe('available');
    expectError(await place(Number(placed[0]!.json.petId)), 409, 'pet_not_available');
    expect((await place(30, { key: (await app.createKey()).key })).status).toBe(201);
    const [one] = placed;
    await bounded.send('PATCH', one!.headers['location']!, { body: { status: 'approved' } });
    expectError(await place(31), 409, 'too_many_open_orders');
    await bounded.send('PATCH', one!.headers['location']!, { body: { status: 'delivered' } });
    expect([(await place(31)).status, (await place(32)).status]).toEqual([201, 409]);
  });

  it('of 0 bounds nothing', async () => {
    await start(0);
    await open(1_100);
    expect((await place(1)).status).toBe(201);
  });
});
