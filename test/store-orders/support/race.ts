import { StoreOrdersRepository } from '../../../src/store-orders/store-orders.repository';
import { PetsRepository } from '../../../src/pets/pets.repository';
import { startApp, type TestApp } from '../../support/app';
import { aNewPet } from '../../support/factories';

/** The outcome of concurrent orders of one animal. */
export interface Race {
  /** HTTP status → number of responses. */
  readonly statuses: Record<number, number>;
  readonly openOrders: number;
  readonly petStatus: string;
}

/** Creates an animal and orders it with `clients` concurrent requests. */
export async function race(app: TestApp, clients: number): Promise<Race> {
  const { key } = await app.createKey();
  const { id: petId } = (await app.post('/v1/pets', aNewPet(), { key })).json;
  const responses = await Promise.all(
    Array.from({ length: clients }, () => app.post('/v1/store/orders', { petId }, { key })),
  );
  const statuses: Record<number, number> = {};
  for (const { status } of responses) statuses[status] = (statuses[status] ?? 0) + 1;
  const [row] = await app.database.query<{ open: string }>(
    `SELECT count(*) AS open FROM store_orders WHERE pet_id = $1 AND status IN ('placed', 'approved')`,
    [petId],
  );
  const { status: petStatus } = (await app.get(`/v1/pets/${petId}`, { key })).json;
  return { statuses, openOrders: Number(row!.open), petStatus };
}

/** Starts the negative control: it reads the status, then updates it, and no index rejects a second order. */
export async function startNaiveApp(): Promise<TestApp> {
  const app = await startApp();
  await app.database.query('DROP INDEX store_orders_open_pet_id');
  const pets = app.nest.get(PetsRepository, { strict: false });
  pets.changeStatus = async (id, to, from, transaction) => {
    const pet = await pets.find(id, transaction);
    if (!pet || !from.includes(pet.status)) return undefined;
    await transaction.query('UPDATE pets SET status = $2 WHERE id = $1', [id, to]);
    return pets.find(id, transaction);
  };
  const orders = app.nest.get(StoreOrdersRepository, { strict: false });
  orders.insert = async (accountId, petId, placedAt, transaction) => {
    const [row] = await transaction.query<{ id: string }[]>(
      `INSERT INTO store_orders (account_id, pet_id, status, placed_at) VALUES ($1, $2, 'placed', $3) RETURNING id`,
      [accountId, petId, placedAt],
    );
    const at = placedAt.toISOString();
    return { id: BigInt(row!.id), accountId, petId, status: 'placed', placedAt: at, updatedAt: at };
  };
  return app;
}
