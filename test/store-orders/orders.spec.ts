import { DEFAULT_SCOPES } from '../../src/app/store';
import { ORDER_STATUSES } from '../../src/store-orders/order-status';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { lockWaits } from '../support/lock-waits';
import { idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { createPatientDatabase } from '../support/patience';
import { until } from '../support/until';

const PATH = '/v1/store/orders';

/** The updates that bring a placed order to each status. */
const WAYS: Record<string, string[]> = {
  placed: [],
  approved: ['approved'],
  delivered: ['approved', 'delivered'],
  cancelled: ['cancelled'],
};
const ALLOWED = new Set(['placed approved', 'placed cancelled', 'approved delivered', 'approved cancelled']);
const INVALID = { status: 409, json: { code: 'invalid_transition', status: 409 } };
const PET_STATUS: Record<string, string> = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
};

/** The id of an account, and a buyer's key of it. */
interface Client {
  readonly id: string;
  readonly key: string;
}

describe('orders', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { database: await createPatientDatabase() });
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
          app.clock.advance({ seconds: 1 });
          const response = await update(id, to);
          const isChange = ALLOWED.has(`${from} ${to}`);
          const unchanged = from === to ? { status: 200, text: before.text } : INVALID;
          expect(response).toMatchObject(
            isChange ? { status: 200, json: { id, petId, status: to } } : unchanged,
          );
          const after = await app.get(`${PATH}/${id}`);
          expect(after.text).toBe(isChange ? response.text : before.text);
          expect(await statusOfPet(petId)).toBe(PET_STATUS[isChange ? to : from]);
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
  });

  describe('GET /v1/store/orders (listOrders)', () => {
    let acme: Client;
    let other: Client;

    pagingContract('/store/orders', ORDER_STATUSES, () => app, noOrders);

    beforeEach(async () => {
      [acme, other] = [await newClient(app), await newClient(app)];
    });

    it("a cursor of another account is only a position among the caller's own orders", async () => {
      await fillOrders(app, [acme, other], 10);
      const theirs = await app.get(`${PATH}?limit=3`, { key: other.key });
      const next = linksOf(theirs)['next']!.replace('limit=3', 'limit=100');
      const response = await app.get(next, { key: acme.key });
      const behind = idsOf(theirs).at(-1)!;
      expect(idsOf(response)).toEqual((await storedIds(app, acme)).filter((id) => id > behind));
      expect(response.json).toHaveLength(7);
    });
  });
});

/** Creates an account without orders, and a second account that gets as many orders. */
async function noOrders(app: TestApp): Promise<PagedList> {
  const [client, other] = [await newClient(app), await newClient(app)];
  return {
    key: client.key,
    fill: (count, statuses) => fillOrders(app, [client, other], count, statuses),
    storedIds: () => storedIds(app, client),
  };
}

async function storedIds(app: TestApp, { id }: Client): Promise<number[]> {
  const sql = 'SELECT id::float8 FROM store_orders WHERE account_id = $1 ORDER BY id';
  return (await app.database.query<{ id: number }>(sql, [id])).map((row) => row.id);
}

async function newClient(app: TestApp): Promise<Client> {
  const { id, key } = await app.createKey({ scopes: DEFAULT_SCOPES });
  const [account] = await app.database.query<{ id: string }>(
    'SELECT account_id AS id FROM api_keys WHERE id = $1',
    [id],
  );
  return { id: account!.id, key };
}

/** Adds `count` orders of each account to the table, the accounts in turn. Each order has an animal id of its own. */
async function fillOrders(
  app: TestApp,
  clients: readonly Client[],
  count: number,
  statuses: readonly string[] = ['placed'],
): Promise<void> {
  await app.database.query(
    `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
     SELECT account, max_id + row_number() OVER (ORDER BY i, account),
            ($3::text[])[1 + i % cardinality($3::text[])], now()
     FROM generate_series(1, $2) AS i, unnest($1::bigint[]) AS account,
          -- Other specs order animals that exist.
          (SELECT greatest(max(pet_id), 1000000) AS max_id FROM store_orders) AS latest`,
    [clients.map(({ id }) => id), count, statuses],
  );
}
