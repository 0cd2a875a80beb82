import { ORDER_STATUSES } from '../../src/store-orders/order-status';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, fillPets, moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { lockWaits } from '../support/lock-waits';
import { followPages, idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { until } from '../support/until';
import { type Client, fillOrders, newClient } from './support/orders';

const PATH = '/v1/store/orders';

/** The updates that bring a placed order to each status. */
const WAYS: Record<string, string[]> = {
  placed: [],
  approved: ['approved'],
  delivered: ['approved', 'delivered'],
  cancelled: ['cancelled'],
};
const ALLOWED = new Set(['placed approved', 'placed cancelled', 'approved delivered', 'approved cancelled']);
const PET_STATUS: Record<string, string> = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
};

describe('orders', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  describe('GET and PATCH /v1/store/orders/{orderId} (getOrder, updateOrder)', () => {
    const update = (id: number, status: string) => app.send('PATCH', `${PATH}/${id}`, { body: { status } });
    const statusOfPet = async (petId: number) => (await app.get(`/v1/pets/${petId}`)).json.status as string;

    async function orderThatIs(status: string): Promise<{ id: number; petId: number }> {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      const { id } = (await app.post(PATH, { petId })).json;
      for (const next of WAYS[status]!) expect((await update(id, next)).status).toBe(200);
      return { id, petId };
    }

    describe.each(ORDER_STATUSES)('an order that is %s', (from) => {
      it.each(ORDER_STATUSES)(
        '200 for the update to %s if the transition is allowed or nothing changes, else 409 without a change',
        async (to) => {
          const { id, petId } = await orderThatIs(from);
          const before = await app.get(`${PATH}/${id}`);
          const response = await update(id, to);
          const isAllowed = from === to || ALLOWED.has(`${from} ${to}`);
          expect(response).toMatchObject(
            isAllowed
              ? { status: 200, json: { id, petId, status: to } }
              : { status: 409, json: { code: 'invalid_transition', status: 409 } },
          );
          const after = await app.get(`${PATH}/${id}`);
          expect(after.text).toBe(isAllowed ? response.text : before.text);
          expect(await statusOfPet(petId)).toBe(PET_STATUS[isAllowed ? to : from]);
        },
      );
    });

    it.each(['available', 'sold'])(
      '409 pet_not_available, and the order does not change, if its animal is already %s',
      async (status) => {
        const { id, petId } = await orderThatIs('approved');
        await app.database.query('UPDATE pets SET status = $2 WHERE id = $1', [petId, status]);
        expectError(await update(id, 'delivered'), 409, 'pet_not_available');
        expect((await app.get(`${PATH}/${id}`)).json.status).toBe('approved');
        expect(await statusOfPet(petId)).toBe(status);
      },
    );

    it('of concurrent updates the first decides: the same status is 200 with its response, another one is 409', async () => {
      const { id, petId } = await orderThatIs('approved');
      await app.database.query('BEGIN');
      await app.database.query('SELECT FROM store_orders WHERE id = $1 FOR UPDATE', [id]);
      const sent = [];
      for (const status of ['delivered', 'delivered', 'cancelled']) {
        sent.push(update(id, status));
        await until(async () => (await lockWaits(app.database)).length === sent.length);
      }
      await app.database.query('COMMIT');
      const [first, same, other] = await Promise.all(sent);
      expect(first).toMatchObject({ status: 200, json: { status: 'delivered' } });
      expect(same).toMatchObject({ status: 200, text: first!.text });
      expectError(other!, 409, 'invalid_transition');
      expect(await statusOfPet(petId)).toBe('sold');
    });

    it.each([
      ['no status', '{}'],
      ['a status in capitals', '{"status":"Approved"}'],
      ['a list', '{"status":["approved"]}'],
      ['nothing', ''],
    ])('400 validation_failed for %s, and the order stays placed', async (_what, body) => {
      const { id } = await orderThatIs('placed');
      expectError(await app.send('PATCH', `${PATH}/${id}`, { body }), 400, 'validation_failed');
      expect((await app.get(`${PATH}/${id}`)).json.status).toBe('placed');
    });

    it.each(['0', '4611686018427387904', '9223372036854775808', '01', '1.0', '%00'])(
      '404 order_not_found for GET and PATCH of the orderId %s',
      async (orderId) => {
        expectError(await app.get(`${PATH}/${orderId}`), 404, 'order_not_found');
        const body = { status: 'approved' };
        expectError(await app.send('PATCH', `${PATH}/${orderId}`, { body }), 404, 'order_not_found');
      },
    );
  });

  describe('GET /v1/store/orders (listOrders)', () => {
    let acme: Client;
    let other: Client;
    beforeAll(() => fillPets(app, 1));

    pagingContract('/store/orders', ORDER_STATUSES, () => app, noOrders);

    let specs = 0;
    beforeEach(async () => {
      specs += 1;
      acme = await newClient(app, `acme ${specs}`);
      other = await newClient(app, `other ${specs}`);
    });

    const list = (query = '', { key }: Client = acme) => app.get(`${PATH}${query}`, { key });
    const follow = ({ key }: Client, query = '') => followPages(app, key, `${PATH}${query}`);

    it("200 contains only the orders of the caller's account, for each of its keys", async () => {
      await fillOrders(app, [acme, other], 12, ORDER_STATUSES);
      const second = await newClient(app, acme.account);
      for (const query of ['', '&status=placed', '&status=cancelled']) {
        const mine = await follow(acme, `?limit=2${query}`);
        const others = await follow(other, `?limit=2${query}`);
        expect(mine.length).toBeGreaterThan(2);
        expect(mine.filter((id) => others.includes(id))).toEqual([]);
        expect(await follow(second, `?limit=2${query}`)).toEqual(mine);
      }
      expect(await follow(acme)).toEqual(await storedIds(app, acme));
      expect(await follow(other)).toEqual(await storedIds(app, other));
    });

    it.each(['', '&status=placed'])(
      "a cursor of another account is only a position among the caller's own orders (%s)",
      async (filter) => {
        await fillOrders(app, [acme, other], 10);
        const theirs = await list(`?limit=3${filter}`, other);
        const response = await app.get(linksOf(theirs)['next']!.replace('limit=3', 'limit=100'), {
          key: acme.key,
        });
        const behind = idsOf(theirs).at(-1)!;
        expect(idsOf(response)).toEqual((await storedIds(app, acme)).filter((id) => id > behind));
        expect(response.json).toHaveLength(7);
      },
    );

    it('placedAt is RFC 3339 in UTC with milliseconds, in the format of Date.toISOString', async () => {
      const times = [
        ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
        ['2026-11-21T12:00:00.123999Z', '2026-11-21T12:00:00.123Z'],
        ['2026-12-31T23:30:00.5-05:30', '2027-01-01T05:00:00.500Z'],
      ];
      for (const [sent] of times) {
        await app.database.query(
          `INSERT INTO store_orders (account_id, pet_id, status, placed_at) VALUES ($1, 1, 'delivered', $2)`,
          [acme.id, sent],
        );
      }
      const shown = (await list()).json.map(({ placedAt }: { placedAt: string }) => placedAt);
      expect(shown).toEqual(times.map(([, expected]) => expected));
      expect(shown.map((text: string) => new Date(text).toISOString())).toEqual(shown);
    });

    it('keeps id and petId above 2^53 exact, over pages', async () => {
      await moveSequence(app, 'pets', 9007199254740995n);
      await moveSequence(app, 'store_orders', 9007199254740993n);
      await fillOrders(app, [acme], 4);
      for (const query of ['?limit=2', '?limit=2&status=placed']) {
        const first = await list(query);
        expect(first.text.match(/"id":\d+,"petId":\d+/g)).toEqual([
          '"id":9007199254740993,"petId":9007199254740995',
          '"id":9007199254740994,"petId":9007199254740996',
        ]);
        const second = await app.get(linksOf(first)['next']!, { key: acme.key });
        expect(second.text.match(/"id":\d+/g)).toEqual(['"id":9007199254740995', '"id":9007199254740996']);
      }
    });
  });
});

let lists = 0;

/** Creates an account without orders, and a second account that gets as many orders. */
async function noOrders(app: TestApp): Promise<PagedList> {
  lists += 1;
  const client = await newClient(app, `paging ${lists}`);
  const other = await newClient(app, `paging neighbour ${lists}`);
  return {
    key: client.key,
    fill: (count, statuses) => fillOrders(app, [client, other], count, statuses),
    storedIds: () => storedIds(app, client),
  };
}

async function storedIds(app: TestApp, { id }: Client): Promise<number[]> {
  const rows = await app.database.query<{ id: string }>(
    'SELECT id FROM store_orders WHERE account_id = $1 ORDER BY id',
    [id],
  );
  return rows.map((row) => Number(row.id));
}
