import { ORDER_STATUSES } from '../../src/store-orders/order-status';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { fillPets, moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { followPages, idsOf, type PagedList, pagingContract } from '../support/paging.contract';
import { type Client, fillOrders, newClient } from './support/orders';

const PATH = '/v1/store/orders';
/** The hook of this spec deletes the principal of a request with this header. */
const LOST = 'x-lost-principal';

describe('GET /v1/store/orders (listOrders)', () => {
  let app: TestApp;
  let acme: Client;
  let other: Client;

  beforeAll(async () => {
    app = await startApp(
      {},
      {
        beforeListen: (nest) => {
          const fastify = nest.getHttpAdapter().getInstance();
          fastify.addHook('preHandler', async (request) => {
            if (LOST in request.headers) delete request.principal;
          });
        },
      },
    );
    await fillPets(app, 1);
  });
  afterAll(() => app.close());

  pagingContract('/store/orders', ORDER_STATUSES, () => app, noOrders);

  let specs = 0;
  beforeEach(async () => {
    specs += 1;
    acme = await newClient(app, `acme ${specs}`);
    other = await newClient(app, `other ${specs}`);
  });

  const list = (query = '', { key }: Client = acme) => app.get(`${PATH}${query}`, { key });
  const follow = ({ key }: Client, query = '') => followPages(app, key, `${PATH}${query}`);

  it('200 returns each order with exactly its five fields', async () => {
    await fillOrders(app, [acme], 1);
    const { json } = await list();
    expect(json).toEqual([
      {
        id: expect.any(Number),
        petId: expect.any(Number),
        status: 'placed',
        placedAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
  });

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

  it('401 without a key, 403 insufficient_scope for a key with every scope but orders:read', async () => {
    const { key } = await app.createKey({ scopes: ['pets:read', 'pets:write', 'orders:write'] });
    expectError(await app.get(PATH, { key: undefined }), 401, 'missing_api_key');
    const rejected = await app.get(PATH, { key });
    expectError(rejected, 403, 'insufficient_scope');
    expect(rejected.headers['www-authenticate']).toContain('scope="orders:read orders:manage"');
    const { key: readOnly } = await app.createKey({ scopes: ['orders:read'] });
    expect((await app.get(PATH, { key: readOnly })).status).toBe(200);
  });

  it('500 and no orders if a request has no principal', async () => {
    expectError(await app.get(PATH, { headers: { [LOST]: '' } }), 500, 'internal_error');
    expect(app.log.join('')).toContain('@CurrentPrincipal() on a request without a principal');
  });

  it('placedAt is RFC 3339 in UTC with milliseconds, in the format of Date.toISOString', async () => {
    const times = [
      ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
      ['2026-11-21T12:00:00.007Z', '2026-11-21T12:00:00.007Z'],
      ['2026-11-21T12:00:00.123999Z', '2026-11-21T12:00:00.123Z'],
      ['2026-12-31T23:30:00.5-05:30', '2027-01-01T05:00:00.500Z'],
      ['2024-02-29T00:00:00.010+00', '2024-02-29T00:00:00.010Z'],
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
