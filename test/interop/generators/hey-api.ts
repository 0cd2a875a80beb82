import { createPet, listPets, placeOrder, updateOrder } from '../generated/clients/hey-api';
import { client } from '../generated/clients/hey-api/client.gen';

export async function flow(baseUrl: string, key: string) {
  client.setConfig({ baseUrl, auth: key });
  const listed = await listPets({ query: { status: 'available' } });
  const created = await createPet({ body: { name: 'Rex', categoryId: 3 } });
  if (created.error) throw new Error(created.error.message);
  const placed = await placeOrder({ body: { petId: created.data.id } });
  if (placed.error) throw new Error(placed.error.message);
  const cancelled = await updateOrder({ path: { orderId: placed.data.id }, body: { status: 'cancelled' } });
  if (cancelled.error) throw new Error(cancelled.error.message);
  const wrong = await placeOrder({ body: { petId: 0 } });
  return [
    listed.data?.length,
    created.data.status,
    placed.data.status,
    cancelled.data.status,
    wrong.error?.message,
  ];
}
