import { type Cut, type CutApp, sweep } from '../../failure/support/fault-sweep';
import { query } from '../../failure/support/own-server';
import type { RequestOptions } from '../../support/http';
import { until } from '../../support/until';

/** Sweeps POST /v1/store/orders with an Idempotency-Key: a retry is 201 with the only order. */
export async function sweepOrders(cutApp: CutApp, stride: number): Promise<Cut[]> {
  const { app, key, directUrl } = cutApp;
  await query(
    directUrl,
    `INSERT INTO pets (name, category_id, status) SELECT 'ordered', 1, 'available' FROM generate_series(1, 20000)`,
  );
  const animals = (
    await query<{ id: string }>(directUrl, `SELECT id FROM pets WHERE name = 'ordered' ORDER BY id DESC`)
  ).map(({ id }) => id);
  const orders = new Map<string, RequestOptions>();
  const send = (name: string) => app.send('POST', '/v1/store/orders', orders.get(name));
  const cuts = await sweep(
    cutApp,
    stride,
    (name) => {
      const body = `{"petId":${animals.pop()}}`;
      orders.set(name, { key, body, headers: { 'idempotency-key': name.replaceAll(' ', '-') } });
      return send(name);
    },
    {
      afterwards: async ({ name, response }) => {
        let again = response;
        // The session of the lost connection may still hold the lock of the key.
        await until(async () => (again = await send(name)).status !== 409);
        expect(again.status).toBe(201);
        if (response.status === 201) expect(again.text).toBe(response.text);
      },
    },
  );
  const [counted] = await query(directUrl, ORDERS);
  expect(counted).toEqual({ orders: cuts.length, animals: cuts.length, reserved: cuts.length });
  return cuts;
}

const ORDERS = `
  SELECT count(*)::integer AS orders, count(DISTINCT pet_id)::integer AS animals,
         (SELECT count(*)::integer FROM pets WHERE status = 'pending') AS reserved
  FROM store_orders`;
