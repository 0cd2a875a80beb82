import * as api from '../generated/clients/oazapfts/api';

export async function flow(baseUrl: string, key: string) {
  Object.assign(api.defaults, { baseUrl, headers: { authorization: `Bearer ${key}` } });
  // `default` has any number as its status, so the body tells an error.
  const listed = await api.listPets({ status: 'available' });
  if (!('data' in listed) || 'code' in listed.data) throw new Error(`the list has status ${listed.status}`);
  const { data: created } = await api.createPet({ name: 'Rex', categoryId: 3 });
  if ('code' in created) throw new Error(created.message);
  const { data: placed } = await api.placeOrder({ petId: created.id });
  if ('code' in placed) throw new Error(placed.message);
  const { data: cancelled } = await api.updateOrder(placed.id, { status: 'cancelled' });
  if ('code' in cancelled) throw new Error(cancelled.message);
  const { data: wrong } = await api.placeOrder({ petId: 0 });
  const message = 'code' in wrong ? wrong.message : undefined;
  return [listed.data.length, created.status, placed.status, cancelled.status, message];
}
