import type { TestApp } from '../../support/app';
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
