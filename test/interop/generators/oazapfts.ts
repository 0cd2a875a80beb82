import * as api from '../generated/clients/oazapfts/api';
import type { Flow } from './flow.js';

export const flow: Flow = async (baseUrl, key) => {
  Object.assign(api.defaults, { baseUrl, headers: { authorization: `Bearer ${key}` } });
  const listed = await api.listPets({ status: 'available' });
  if (listed.status !== 200) throw new Error(`the list has status ${listed.status}`);
  const created = await api.createPet({ name: 'Rex', categoryId: 3 });
  if (created.status !== 201) throw new Error(created.data.message);
  const placed = await api.placeOrder({ petId: created.data.id });
  if (placed.status !== 201) throw new Error(placed.data.message);
  const cancelled = await api.updateOrder(placed.data.id, { status: 'cancelled' });
  if (cancelled.status !== 200) throw new Error(cancelled.data.message);
  const wrong = await api.placeOrder({ petId: 0 });
  const message = wrong.status === 201 ? undefined : wrong.data.message;
  return [listed.data.length, created.data.status, placed.data.status, cancelled.data.status, message];
};
