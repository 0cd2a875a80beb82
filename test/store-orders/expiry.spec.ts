import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import type { GivenConfig } from '../../src/app/build';
import { OrderHooks, PetHooks, PetsModule, Sql, StoreOrdersModule } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { holdTimers, pass } from '../support/timers';

const PATH = '/v1/store/orders';
const HOUR = 3_600;
const DAY = 24 * HOUR;
/** Each of three actors begins twice. */
const RACES = 6;

/** Writes a row for each order that moves and each animal that changes; it throws for the animals of `refused`. */
@Injectable()
class Journal implements OnModuleInit {
  constructor(
    private readonly sql: Sql,
    private readonly orders: OrderHooks,
    private readonly pets: PetHooks,
  ) {}

  onModuleInit(): void {
    this.orders.onMoved(async ({ order, accountId, previous }, transaction) => {
      const text = `order ${order.id} of ${accountId}: ${previous} to ${order.status}`;
      await this.sql.rows('INSERT INTO journal VALUES ($1)', [text], transaction);
    });
    this.pets.onChanged(async ({ pet, previous }, transaction) => {
      const text = `animal ${pet.id}: ${previous?.status} to ${pet.status}`;
      await this.sql.rows('INSERT INTO journal VALUES ($1)', [text], transaction);
      const refused = await this.sql.rows('SELECT FROM refused WHERE pet_id = $1', [pet.id], transaction);
      // An error of the database, which ends the transaction, too.
      if (refused.length > 0) await this.sql.rows('SELECT 1 / 0', [], transaction);
    });
  }
}

@Module({ imports: [PetsModule, StoreOrdersModule], providers: [Journal] })
class JournalModule {}

describe('an order that is still placed after ORDER_EXPIRES_AFTER_HOURS', () => {
  let app: TestApp;
  let other: TestApp;
  beforeAll(async () => {
    holdTimers();
    app = await startApp({}, { modules: [JournalModule] });
    // The database cancels no order before its own time.
    app.clock.advance({ seconds: -365 * DAY });
    await app.database.query('CREATE TABLE journal (text text); CREATE TABLE refused (pet_id bigint)');
    other = await startApp({}, { modules: [JournalModule], beside: app });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await other.close();
    await app.close();
  });
  beforeEach(() => app.database.truncate('pets, store_orders, journal, refused CASCADE'));

  const sweep = (of: TestApp = app) => of.runDueWork();
  const get = async (id: number) => (await app.get(`${PATH}/${id}`)).json;
  const update = (id: number, status: string, of = app) =>
    of.send('PATCH', `${PATH}/${id}`, { key: app.key, body: { status } });
  const petStatus = async (id: number) => (await app.get(`/v1/pets/${id}`)).json.status as string;
  const place = async () => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    return (await app.post(PATH, { petId })).json as { id: number; petId: number; placedAt: string };
  };
  const journal = async () =>
    (await app.database.query<{ text: string }>('SELECT text FROM journal ORDER BY text')).map(
      ({ text }) => text,
    );
  const cancellations = async () => (await journal()).filter((text) => text.endsWith('to cancelled')).length;

  it('is cancelled at expiresAt, not before, and its animal becomes available, as by its buyer', async () => {
    const [forgotten, approved, later] = [await place(), await place(), await place()];
    await update(approved.id, 'approved');
    app.clock.advance({ seconds: 168 * HOUR - 0.001 });
    const { expiresAt } = await get(forgotten.id);
    await sweep();
    expect(await get(forgotten.id)).toMatchObject({ status: 'placed', expiresAt });
    const buyers = await update(later.id, 'cancelled');
    await app.database.truncate('journal');
    app.clock.advance({ seconds: 0.001 });
    await sweep();
    const { updatedAt: _, ...expected } = {
      ...buyers.json,
      ...forgotten,
      status: 'cancelled',
      expiresAt: null,
    };
    expect(await get(forgotten.id)).toEqual({ ...expected, updatedAt: expiresAt });
    expect(await petStatus(forgotten.petId)).toBe('available');
    expect(await get(approved.id)).toMatchObject({ status: 'approved', expiresAt: null });
    expect(await journal()).toEqual([
      `animal ${forgotten.petId}: pending to available`,
      expect.stringMatching(`^order ${forgotten.id} of \\d+: placed to cancelled$`),
    ]);
    expectError(await update(forgotten.id, 'approved'), 409, 'invalid_transition');
    expect((await app.post(PATH, { petId: forgotten.petId })).status).toBe(201);
  });

  it('is cancelled once by two instances, in several batches', async () => {
    const count = 210;
    await app.database.query(
      `WITH added AS (INSERT INTO pets (name, category_id, status) SELECT 'Rex', 1, 'pending' FROM generate_series(1, $1) RETURNING id)
       INSERT INTO store_orders (account_id, pet_id, status, placed_at, expires_at)
       SELECT (SELECT min(id) FROM accounts), id, 'placed', now(), '2025-01-01Z' FROM added`,
      [count],
    );
    await Promise.all([sweep(), sweep(other)]);
    expect(await cancellations()).toBe(count);
    expect(
      await app.database.query(
        `SELECT FROM store_orders WHERE status = 'placed' AND expires_at < '2025-02-01Z'`,
      ),
    ).toEqual([]);
  });

  it(`exactly one of buyer, staff and two instances decides, in ${RACES} of ${RACES} races`, async () => {
    for (let race = 0; race < RACES; race += 1) {
      const { id, petId } = await place();
      app.clock.advance({ seconds: 168 * HOUR });
      await app.database.truncate('journal');
      const actors = [
        () => update(id, 'cancelled'),
        () => update(id, 'approved', other),
        // The timers of both instances.
        () => Promise.resolve(pass({ seconds: 15 })),
      ];
      // Each of them begins in turn.
      const turn = race % actors.length;
      await Promise.all([...actors.slice(turn), ...actors.slice(0, turn)].map((act) => act()));
      await Promise.all([sweep(), sweep(other)]);
      const moves = (await journal()).filter((text) => text.startsWith('order '));
      const from = (status: string) => moves.filter((text) => text.includes(`: ${status} to `));
      expect(from('placed')).toHaveLength(1);
      // A buyer may cancel the approved order, too.
      expect(from('approved').length).toBe(moves.length - 1);
      expect(await get(id)).toMatchObject({ status: 'cancelled', expiresAt: null });
      expect(await petStatus(petId)).toBe('available');
    }
  });

  it('is left to a request that changes it at the same time: the run waits for no lock', async () => {
    const [first, second] = [await place(), await place()];
    app.clock.advance({ seconds: 168 * HOUR });
    await app.database.query('BEGIN');
    await app.database.query('SELECT FROM store_orders WHERE id = $1 FOR UPDATE', [first.id]);
    try {
      await sweep();
    } finally {
      await app.database.query('COMMIT');
    }
    const statuses = [(await get(first.id)).status, (await get(second.id)).status];
    expect(statuses).toEqual(['placed', 'cancelled']);
    await sweep();
    expect((await get(first.id)).status).toBe('cancelled');
  });

  it('is cancelled by the timer within a minute; one whose listener fails stays placed with its animal, and the log names it', async () => {
    const orders = [await place(), await place(), await place()];
    const [first] = orders as [(typeof orders)[0]];
    await app.database.query('INSERT INTO refused VALUES ($1)', [first.petId]);
    app.clock.advance({ seconds: 168 * HOUR });
    await app.database.truncate('journal');
    const timed = await startApp({}, { modules: [JournalModule], beside: app });
    pass({ seconds: 60 });
    // The stop waits for its run, and the lock for those of the other instances.
    await timed.close();
    await app.database.query('SELECT FROM store_orders FOR UPDATE');
    const states = await Promise.all(orders.map(({ id }) => get(id)));
    expect(states.map(({ status }) => status)).toEqual(['placed', 'cancelled', 'cancelled']);
    expect(await petStatus(first.petId)).toBe('pending');
    expect(await journal()).toHaveLength(4);
    await expect(sweep()).rejects.toThrow('division by zero');
    const cause = `of 1 orders the first is ${first.id}: QueryFailedError: division by zero`;
    expect(timed.log.some((line) => line.includes(cause))).toBe(true);
    await app.database.truncate('refused');
    await sweep();
    expect((await get(first.id)).status).toBe('cancelled');
  });

  it('is not cancelled if the setting is 0, and expiresAt is null; another setting gives open orders the whole time', async () => {
    const earlier = await place();
    const settings: GivenConfig = { orderExpiresAfterHours: 0 };
    const never = await startApp(settings, { beside: app });
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    const placed = (await never.post(PATH, { petId }, { key: app.key })).json;
    expect(placed.expiresAt).toBeNull();
    app.clock.advance({ seconds: 168 * HOUR });
    await sweep(never);
    for (const { id } of [earlier, placed])
      expect(await get(id)).toMatchObject({ status: 'placed', expiresAt: null });
    await never.close();
    await sweep();
    const now = app.clock.now();
    for (const { id } of [earlier, placed])
      expect(await get(id)).toMatchObject({
        status: 'placed',
        updatedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + 168 * HOUR * 1_000).toISOString(),
      });
  });
});
