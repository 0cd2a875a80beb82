import * as fc from 'fast-check';
import { send } from '../../support/http';

const CLIENTS = 8;
const ANIMALS = 20;
const MAX_WALK = 12;

/** A running service and its database. */
export interface Subject {
  readonly url: string;
  /** One key for each client, of an account of its own, with limits that no walk reaches. */
  readonly keys: readonly string[];
  readonly query: (text: string, parameters?: unknown[]) => Promise<Record<string, unknown>[]>;
}

/** One request of a client: it orders an animal or updates an order, mostly with the key of the order's owner. */
interface Step {
  readonly target: 'placed' | 'approved' | 'delivered' | 'cancelled';
  readonly animal: number;
  readonly order: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  target: fc.constantFrom('placed', 'placed', 'approved', 'approved', 'delivered', 'cancelled'),
  animal: fc.nat(ANIMALS - 1),
  order: fc.nat(30),
});
const walks = fc.array(fc.array(step, { maxLength: MAX_WALK }), {
  minLength: CLIENTS,
  maxLength: CLIENTS,
});

/** Triggers that record every change of the status of an order or animal. */
const WITNESS = `
  CREATE TABLE witnessed (what text, was text, became text);
  CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO witnessed VALUES (TG_TABLE_NAME, OLD.status, NEW.status); RETURN NEW; END $$;
  CREATE TRIGGER witness AFTER UPDATE OF status ON store_orders FOR EACH ROW EXECUTE FUNCTION witness();
  CREATE TRIGGER witness AFTER UPDATE OF status ON pets FOR EACH ROW EXECUTE FUNCTION witness()`;

const FORBIDDEN = `
  SELECT DISTINCT what, was, became FROM witnessed WHERE (what, was, became) NOT IN (
    ('store_orders', 'placed', 'approved'), ('store_orders', 'placed', 'cancelled'),
    ('store_orders', 'approved', 'delivered'), ('store_orders', 'approved', 'cancelled'),
    ('pets', 'available', 'pending'), ('pets', 'pending', 'sold'), ('pets', 'pending', 'available'))`;

const INCONSISTENT = `
  SELECT pets.id, pets.status, array_agg(store_orders.status) AS orders
  FROM pets LEFT JOIN store_orders ON pet_id = pets.id GROUP BY pets.id, pets.status
  HAVING count(*) FILTER (WHERE store_orders.status IN ('placed', 'approved', 'delivered')) > 1
    OR pets.status <> CASE
      WHEN bool_or(store_orders.status = 'delivered') THEN 'sold'
      WHEN bool_or(store_orders.status IN ('placed', 'approved')) THEN 'pending'
      ELSE 'available' END`;

/**
 * Runs 8 concurrent clients with random requests over 20 animals, `numRuns` times. After each run:
 * - the status of every animal follows from its orders;
 * - no animal has two orders that are open or delivered;
 * - only allowed transitions happened.
 *
 * @param seed of the random requests; default: another one each time
 * @returns HTTP status → number of responses
 */
export async function walkAtRandom(
  subject: Subject,
  numRuns: number,
  seed?: number,
): Promise<Record<number, number>> {
  await subject.query(WITNESS);
  const statuses: Record<number, number> = {};
  await fc.assert(
    fc.asyncProperty(walks, async (clients) => {
      const animals = await newAnimals(subject);
      const orders: string[] = [];
      await Promise.all(
        clients.map(async (steps, client) => {
          for (const each of steps) {
            const status = await take(subject, subject.keys[client]!, each, animals, orders);
            statuses[status] = (statuses[status] ?? 0) + 1;
          }
        }),
      );
      expect(Object.keys(statuses).filter((status) => !/^(200|201|404|409)$/.test(status))).toEqual([]);
      expect(await subject.query(FORBIDDEN)).toEqual([]);
      expect(await subject.query(INCONSISTENT)).toEqual([]);
    }),
    // No shrinking: the same steps do not repeat a race, so a shorter walk proves nothing.
    { numRuns, endOnFailure: true, ...(seed !== undefined && { seed }) },
  );
  return statuses;
}

async function newAnimals({ query }: Subject): Promise<string[]> {
  const rows = await query(
    `INSERT INTO pets (name, category_id, status) SELECT 'animal', 1, 'available' FROM generate_series(1, $1) RETURNING id`,
    [ANIMALS],
  );
  return rows.map(({ id }) => String(id));
}

async function take(
  { url }: Subject,
  key: string,
  { target, animal, order }: Step,
  animals: readonly string[],
  orders: string[],
): Promise<number> {
  if (target === 'placed') {
    const response = await send(url, 'POST', '/v1/store/orders', {
      key,
      body: `{"petId":${animals[animal]}}`,
    });
    if (response.status === 201) orders.push(`${key} ${response.json.id}`);
    return response.status;
  }
  const [owner = key, id = '0'] = orders[order % Math.max(1, orders.length)]?.split(' ') ?? [];
  const asker = order % 10 === 0 ? key : owner;
  const response = await send(url, 'PATCH', `/v1/store/orders/${id}`, {
    key: asker,
    body: { status: target },
  });
  return response.status;
}
