import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { fillPets, moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { type Client, fillOrders, newClient } from './support/orders';

const PATH = '/v1/store/orders';
/** A request with this header loses its principal on the way. */
const LOST = 'x-lost-principal';
const STATUSES = ['placed', 'approved', 'delivered', 'cancelled'];

const ids = (json: { id: number }[]) => json.map(({ id }) => id);

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

  let specs = 0;
  beforeEach(async () => {
    specs += 1;
    acme = await newClient(app, `acme ${specs}`);
    other = await newClient(app, `other ${specs}`);
  });

  const list = (query = '', { key }: Client = acme) => app.get(`${PATH}${query}`, { key });

  async function idsInTable({ id }: Client): Promise<number[]> {
    const rows = await app.database.query<{ id: string }>(
      'SELECT id FROM store_orders WHERE account_id = $1 ORDER BY id',
      [id],
    );
    return rows.map((row) => Number(row.id));
  }

  /** Follows `next` from an address to the end. */
  async function follow(address: string, client: Client, onPage?: () => Promise<void>): Promise<number[]> {
    const seen: number[] = [];
    for (let next: string | undefined = address; next !== undefined;) {
      const answer = await app.get(next, { key: client.key });
      expect(answer.status).toBe(200);
      seen.push(...ids(answer.json));
      await onPage?.();
      next = linksOf(answer)['next'];
    }
    return seen;
  }

  it('200 is an empty array, without Link, for an account that has no orders', async () => {
    await fillOrders(app, [other], 3);
    const answer = await list();
    expect(answer).toMatchObject({ status: 200, text: '[]' });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(linksOf(answer)).toEqual({});
  });

  it('200 is a bare array of the first 20 by ascending id, each with exactly its four fields', async () => {
    await fillOrders(app, [acme], 25, STATUSES);
    const answer = await list();
    const [id, ...behind] = await idsInTable(acme);
    expect(answer.json[0]).toEqual({
      id,
      petId: expect.any(Number),
      status: 'approved',
      placedAt: expect.any(String),
    });
    expect(ids(answer.json)).toEqual([id, ...behind.slice(0, 19)]);
  });

  it("200 holds the orders of the caller's account and of no other, whichever of its keys is used", async () => {
    await fillOrders(app, [acme, other], 30, STATUSES);
    const second = await newClient(app, acme.account);
    for (const query of ['', '&status=placed', '&status=cancelled']) {
      const mine = await follow(`${PATH}?limit=7${query}`, acme);
      const others = await follow(`${PATH}?limit=7${query}`, other);
      expect(mine.length).toBeGreaterThan(5);
      expect(mine.filter((id) => others.includes(id))).toEqual([]);
      expect(await follow(`${PATH}?limit=7${query}`, second)).toEqual(mine);
    }
    expect(await follow(PATH, acme)).toEqual(await idsInTable(acme));
    expect(await follow(PATH, other)).toEqual(await idsInTable(other));
  });

  it('repeats and skips none over 1,000 while both accounts go on ordering', async () => {
    await fillOrders(app, [acme, other], 1_000, STATUSES);
    const before = await idsInTable(acme);
    expect(before).toHaveLength(1_000);
    const seen = await follow(`${PATH}?limit=17`, acme, () => fillOrders(app, [other, acme], 1));
    expect(seen.slice(0, before.length)).toEqual(before);
    expect(seen).toEqual((await idsInTable(acme)).slice(0, seen.length));
  });

  it.each(STATUSES)('200 with status=%s holds those orders and no others, over all pages', async (status) => {
    await fillOrders(app, [acme, other], 100, STATUSES);
    const answer = await list(`?limit=100&status=${status}`);
    expect(answer.json.map((order: { status: string }) => order.status)).toEqual(Array(25).fill(status));
    expect(await follow(`${PATH}?limit=4&status=${status}`, acme)).toEqual(ids(answer.json));
  });

  it('leads by Link: next on all but the last, first on all but the first, limit and filter kept', async () => {
    await fillOrders(app, [acme, other], 8);
    const first = await list('?limit=5&status=placed');
    expect(linksOf(first)).toEqual({
      next: expect.stringMatching(/^\/v1\/store\/orders\?limit=5&status=placed&cursor=[\w-]+$/),
    });
    const last = await app.get(linksOf(first)['next']!, { key: acme.key });
    expect(last.json).toHaveLength(3);
    expect(linksOf(last)).toEqual({ first: '/v1/store/orders?limit=5&status=placed' });
    // Ends with the account's last order, though the other account's go on.
    expect(linksOf(await list('?limit=8'))).toEqual({});
  });

  // Both lists read it by one class; the other spellings are in the spec of animals.
  it.each(['0', '101', '1&limit=1'])('400 validation_failed for limit=%s', async (limit) => {
    const answer = await list(`?limit=${limit}`);
    expectError(answer, 400, 'validation_failed');
    expect(answer.json.message).toContain('limit');
  });

  it.each(['', 'Placed', 'placed%20', 'available', 'placed&status=placed', 'null'])(
    '400 validation_failed for status=%s',
    async (status) => {
      const answer = await list(`?status=${status}`);
      expectError(answer, 400, 'validation_failed');
      expect(answer.json.message).toContain('status');
    },
  );

  it.each([
    ['made up', 'abc'],
    ['empty', ''],
    ['for an id beyond int64', Buffer.from('9223372036854775808@/store/orders?').toString('base64url')],
    ['of the list of animals', Buffer.from('7@/pets?').toString('base64url')],
  ])('400 invalid_cursor for one that is %s', async (_what, cursor) => {
    expectError(await list(`?cursor=${cursor}`), 400, 'invalid_cursor');
  });

  it('400 invalid_cursor for one that was made for another filter, or for none', async () => {
    await fillOrders(app, [acme], 40, STATUSES);
    const cursorOf = async (query: string) =>
      new URL(linksOf(await list(`?limit=5${query}`))['next']!, app.url).searchParams.get('cursor');
    const unfiltered = await cursorOf('');
    const placed = await cursorOf('&status=placed');
    expectError(await list(`?status=placed&cursor=${unfiltered}`), 400, 'invalid_cursor');
    expectError(await list(`?cursor=${placed}`), 400, 'invalid_cursor');
    expectError(await list(`?status=approved&cursor=${placed}`), 400, 'invalid_cursor');
    expect((await list(`?limit=7&cursor=${unfiltered}`)).status).toBe(200);
  });

  it.each(['', '&status=placed'])(
    "a cursor of another account is only a position among the caller's own orders (%s)",
    async (filter) => {
      await fillOrders(app, [acme, other], 10);
      const theirs = await list(`?limit=3${filter}`, other);
      const answer = await app.get(linksOf(theirs)['next']!.replace('limit=3', 'limit=100'), {
        key: acme.key,
      });
      const behind = ids(theirs.json).at(-1)!;
      expect(ids(answer.json)).toEqual((await idsInTable(acme)).filter((id) => id > behind));
      expect(answer.json).toHaveLength(7);
    },
  );

  it('401 without a key, 403 insufficient_scope for a key with every scope but orders:read', async () => {
    const { key } = await app.createKey({ scopes: ['pets:read', 'pets:write', 'orders:write'] });
    expectError(await app.get(PATH, { key: undefined }), 401, 'missing_api_key');
    const refused = await app.get(PATH, { key });
    expectError(refused, 403, 'insufficient_scope');
    expect(refused.headers['www-authenticate']).toContain('scope="orders:read"');
    const { key: readOnly } = await app.createKey({ scopes: ['orders:read'] });
    expect((await app.get(PATH, { key: readOnly })).status).toBe(200);
  });

  it('500 rather than orders of anyone, should a request ever arrive without its principal', async () => {
    expectError(await app.get(PATH, { headers: { [LOST]: '' } }), 500, 'internal_error');
    expect(app.log.join('')).toContain('asks for the principal of a request that has none');
  });

  it('placedAt is RFC 3339 in UTC to the millisecond, exactly as Date.toISOString writes it', async () => {
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

  it('keeps id and petId above 2^53 exact, in the body and over pages', async () => {
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
