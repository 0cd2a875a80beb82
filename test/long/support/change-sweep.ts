import { type Cut, type CutApp, MAX_BYTES, sweep } from '../../failure/support/fault-sweep';
import { isOutcomeUnknown } from '../../failure/support/expect-unavailable';
import { query } from '../../failure/support/own-server';

/** A change of one animal or of its order. */
interface Change {
  readonly operation: string;
  readonly method: string;
  /** @param id of the animal and of its order */
  readonly path: (id: string) => string;
  readonly body?: object;
  /** The status of the response to a change. */
  readonly success: number;
  /** Name and status of the animal, and the status of its order, after the change; undefined if it was removed. */
  readonly after: string | undefined;
  /** The statuses of the animal and of its order before. */
  readonly before: readonly [pet: string, order: string];
}

const NAME = 'before';
const FREE = ['available', 'cancelled'] as const;

/** The changes to sweep. */
export const CHANGES: readonly Change[] = [
  {
    operation: 'updatePet',
    method: 'PATCH',
    path: (id) => `/v1/pets/${id}`,
    body: { name: 'after', status: 'sold' },
    success: 200,
    before: FREE,
    after: 'after sold cancelled',
  },
  {
    operation: 'deletePet',
    method: 'DELETE',
    path: (id) => `/v1/pets/${id}`,
    success: 204,
    before: FREE,
    after: undefined,
  },
  {
    operation: 'updateOrder',
    method: 'PATCH',
    path: (id) => `/v1/store/orders/${id}`,
    body: { status: 'cancelled' },
    success: 200,
    before: ['pending', 'placed'],
    after: `${NAME} available cancelled`,
  },
];

/** Sweeps one kind of change: animal and order are as the response says, and always fit together. */
export async function sweepChanges(cutApp: CutApp, stride: number, change: Change): Promise<Cut[]> {
  const { app, key, directUrl } = cutApp;
  const { method, path, body, success, before, after } = change;
  const [petStatus, orderStatus] = before;
  await query(directUrl, 'TRUNCATE pets, store_orders RESTART IDENTITY');
  await query(
    directUrl,
    `INSERT INTO pets (name, category_id, status)
     SELECT '${NAME}', 1, '${petStatus}' FROM generate_series(1, ${2 * MAX_BYTES})`,
  );
  await query(
    directUrl,
    `INSERT INTO store_orders (account_id, pet_id, status, placed_at)
     SELECT (SELECT min(id) FROM accounts), id, '${orderStatus}', now() FROM pets ORDER BY id`,
  );
  const targets = new Map<string, string>();
  const ask = (name: string) => {
    const id = String(targets.size + 1);
    targets.set(name, id);
    return app.send(method, path(id), { key, body });
  };
  const cuts = await sweep(cutApp, stride, ask, { success });
  const rows = await query<{ id: string; state: string }>(directUrl, STATES);
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  for (const { name, response } of cuts) {
    const unchanged = `${NAME} ${petStatus} ${orderStatus}`;
    const expected = response.status === success ? [after] : [unchanged];
    if (isOutcomeUnknown(response)) expected.push(after);
    expect(expected).toContain(states.get(targets.get(name)!));
  }
  return cuts;
}

/** The order of an animal has the same id. */
const STATES = `
  SELECT pets.id, concat_ws(' ', pets.name, pets.status, store_orders.status) AS state
  FROM pets JOIN store_orders ON store_orders.id = pets.id`;
