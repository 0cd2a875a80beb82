import createClient from 'openapi-fetch';
import type { paths } from '../generated/clients/openapi-typescript/api.js';

export async function flow(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });
  const listed = await client.GET('/pets', { params: { query: { status: 'available' } } });
  const created = await client.POST('/pets', { body: { name: 'Rex', categoryId: 3 } });
  if (created.error) throw new Error(created.error.message);
  const placed = await client.POST('/store/orders', { body: { petId: created.data.id } });
  if (placed.error) throw new Error(placed.error.message);
  const params = { path: { orderId: placed.data.id } };
  const cancelled = await client.PATCH('/store/orders/{orderId}', { params, body: { status: 'cancelled' } });
  if (cancelled.error) throw new Error(cancelled.error.message);
  const wrong = await client.POST('/store/orders', { body: { petId: 0 } });
  // @ts-expect-error -- categoryId is required
  await client.POST('/pets', { body: { name: 'Rex' } });
  // @ts-expect-error -- not a status of an animal
  await client.GET('/pets', { params: { query: { status: 'gone' } } });
  // @ts-expect-error -- not a sort
  await client.GET('/pets', { params: { query: { sort: 'name' } } });
  // @ts-expect-error -- an integer
  await client.GET('/pets/{petId}', { params: { path: { petId: 'rex' } } });
  return [
    listed.data?.length,
    created.data.status,
    placed.data.status,
    cancelled.data.status,
    wrong.error?.message,
  ];
}
