import * as fc from 'fast-check';
import { DEFAULT_SCOPES } from '../../src/app/store';
import { ORDER_STATUSES, type OrderStatus } from '../../src/store-orders/order-status';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';

const PATH = '/v1/store/orders';
const ROLES = ['buyer', 'staff', 'stranger'] as const;
type Role = (typeof ROLES)[number];
/** The statuses that an order may get from each one. Only staff sets `approved` and `delivered`. */
const NEXT: Record<OrderStatus, readonly OrderStatus[]> = {
  placed: ['approved', 'cancelled'],
  approved: ['delivered', 'cancelled'],
  delivered: [],
  cancelled: [],
};
const PET_STATUS: Record<OrderStatus, string> = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
};

/** An update of the status by a role. */
type Step = readonly [role: Role, target: OrderStatus];
const STEPS = ROLES.flatMap((role) => ORDER_STATUSES.map((target): Step => [role, target]));

/** Returns the status and code of a response to an update. */
function outcomeOf(status: OrderStatus, [role, target]: Step): readonly [number, string?] {
  if (role !== 'staff' && /approved|delivered/.test(target)) return [403, 'insufficient_scope'];
  if (role === 'stranger') return [404, 'order_not_found'];
  return status === target || NEXT[status].includes(target) ? [200] : [409, 'invalid_transition'];
}

/** All updates that leave an order as it is. */
const idle = (status: OrderStatus) =>
  STEPS.filter((step) => step[1] === status || outcomeOf(status, step)[0] !== 200);
/** Every update of every status. */
const EVERY: Step[][] = [
  [
    ...idle('placed'),
    ['staff', 'approved'],
    ...idle('approved'),
    ['staff', 'delivered'],
    ...idle('delivered'),
  ],
  [['buyer', 'cancelled'], ...idle('cancelled')],
  [
    ['staff', 'approved'],
    ['buyer', 'cancelled'],
  ],
  [
    ['staff', 'approved'],
    ['staff', 'cancelled'],
  ],
  [['staff', 'cancelled']],
];

describe('orders as buyers and staff see and change them', () => {
  let app: TestApp;
  let keys: Record<Role, string>;
  beforeAll(async () => {
    // One connection: a rejection must not need a second one. The work in the background needs it, too.
    app = await startApp({ databasePoolSize: 1 });
    const choice = { plan: 'enterprise', perMinute: 1e6, perDay: 1e6 } as const;
    const { key: buyer } = await app.createKey({ account: 'shop', scopes: DEFAULT_SCOPES, choice });
    keys = { buyer, staff: await app.unlimitedKey(['orders:manage']), stranger: '' };
  });
  beforeEach(async () => (keys.stranger = await app.unlimitedKey(DEFAULT_SCOPES)));
  afterAll(() => app.close());

  const place = async (role: Role = 'buyer') => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet(), { key: keys.buyer })).json;
    return app.post(PATH, { petId }, { key: keys[role] });
  };
  const get = (role: Role, query = '') => app.get(`${PATH}${query}`, { key: keys[role] });
  const update = (role: Role, id: number, status: string) =>
    app.send('PATCH', `${PATH}/${id}`, { key: keys[role], body: { status } });
  const statusOfPet = async (petId: number) =>
    (await app.get(`/v1/pets/${petId}`, { key: keys.buyer })).json.status as string;

  it('move by the allowed transitions only, each by its role, with their animal; any other update changes nothing', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom(...STEPS), { maxLength: 6 }),
      async (steps) => {
        const order = (await place()).json;
        for (const step of steps) {
          const [role, target] = step;
          app.clock.advance({ seconds: 1 });
          const [status, code] = outcomeOf(order.status, step);
          const isChange = status === 200 && order.status !== target;
          const updatedAt = new Date(app.clock.now()).toISOString();
          if (isChange) Object.assign(order, { status: target, updatedAt, expiresAt: null });
          const response = await update(role, order.id, target);
          const body = role === 'staff' ? { ...order, account: 'shop' } : order;
          const error = { status, code, message: expect.any(String) };
          expect([step, response.status, response.json]).toEqual([step, status, code ? error : body]);
          expect((await get('buyer', `/${order.id}`)).json).toEqual(order);
          expect(await statusOfPet(order.petId)).toBe(PET_STATUS[order.status as OrderStatus]);
        }
      },
    );
    await fc.assert(property, { numRuns: 15, examples: EVERY.map((steps) => [steps]) });
  });

  it('403 names the scope that a status needs, whether or not the order exists', async () => {
    for (const id of [(await place()).json.id, 4_711]) {
      const rejected = await update('buyer', id, 'approved');
      expectError(rejected, 403, 'insufficient_scope');
      expect(rejected.headers['www-authenticate']).toBe(
        'Bearer realm="animal-store", error="insufficient_scope", scope="orders:manage"',
      );
    }
  });

  it('are seen by their account and by staff, to which only lists and orders, never placeOrder, show the account', async () => {
    const { json, headers } = await place();
    const one = `/${json.id}`;
    expect((await get('staff', one)).json).toEqual({ ...json, account: 'shop' });
    expect((await get('staff', '?account=shop&sort=-id&limit=1')).json).toEqual([
      { ...json, account: 'shop' },
    ]);
    expect((await get('buyer', '?sort=-id&limit=1')).json).toEqual([json]);
    for (const role of ['stranger', 'staff'] as const) expect((await get(role)).text).toBe('[]');
    const foreign = await get('stranger', one);
    expectError(foreign, 404, 'order_not_found');
    expect(foreign.text).toBe((await get('stranger', '/4711')).text);
    expect((await app.send('HEAD', PATH + one, { key: keys.stranger })).status).toBe(404);
    expectError(
      await app.post(PATH, { petId: json.petId }, { key: keys.stranger }),
      409,
      'pet_not_available',
    );
    // The tag of the response of placeOrder is of the form without the account, also for staff.
    const placed = await app.post(PATH, { petId: (await app.post('/v1/pets', aNewPet())).json.id });
    expect(placed.text).not.toContain('account');
    for (const [key, tag, path] of [
      [keys.buyer, headers['etag'], PATH + one],
      [app.key, placed.headers['etag'], placed.headers['location']!],
    ] as const) {
      const options = { key, headers: { 'if-match': tag! }, body: { status: 'cancelled' } };
      // The repetition has the tag from before the change.
      for (let time = 0; time < 2; time += 1)
        expect((await app.send('PATCH', path, options)).status).toBe(200);
    }
  });

  it('403 insufficient_scope for ?account= of a buyer, even its own, before the query is validated', async () => {
    for (const query of ['?account=shop', '?account=*', '?account=', '?account=shop&limit=0']) {
      const rejected = await get('buyer', query);
      expectError(rejected, 403, 'insufficient_scope');
      expect(rejected.headers['www-authenticate']).toContain('scope="orders:manage"');
    }
  });

  it("a cursor of another account is only a position among the caller's own orders", async () => {
    const placed = [];
    for (const role of ['stranger', 'buyer', 'stranger', 'buyer'] as const)
      placed.push((await place(role)).json);
    const { next } = linksOf(await get('stranger', '?limit=1'));
    const own = await app.get(next!.replace('limit=1', 'limit=100'), { key: keys.buyer });
    expect(own.json).toEqual([placed[1], placed[3]]);
  });

  it.each(['available', 'sold'])(
    '409 pet_not_available, and the order does not change, if its animal is already %s',
    async (status) => {
      const { id, petId } = (await place()).json;
      await update('staff', id, 'approved');
      await app.database.query('UPDATE pets SET status = $2 WHERE id = $1', [petId, status]);
      expectError(await update('staff', id, 'delivered'), 409, 'pet_not_available');
      expect((await get('staff', `/${id}`)).json.status).toBe('approved');
      expect(await statusOfPet(petId)).toBe(status);
    },
  );
});
