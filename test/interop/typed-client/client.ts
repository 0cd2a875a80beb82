import createClient from 'openapi-fetch';
import type { components, operations, paths } from '../generated/typed-client/schema.js';

type Pet = components['schemas']['Pet'];
type Order = components['schemas']['Order'];
type ErrorBody = components['schemas']['Error'];

/** Calls every operation of animals and orders with the generated client. @returns the statuses */
export async function callOwnOperations(
  baseUrl: string,
  key: string,
): Promise<Partial<Record<keyof operations, number>>> {
  const client = createClient<paths>({
    baseUrl,
    headers: { authorization: `Bearer ${key}` },
  });

  const created = await client.POST('/pets', { body: { name: 'Rex', categoryId: 3 } });
  const pet: Pet = required(created.data);
  const batch = await client.POST('/pets/batch', { body: { items: [{ name: 'Bo', categoryId: 3 }] } });
  const listed = await client.GET('/pets', {
    params: { query: { id: [pet.id, 1], status: 'available', sort: '-id' } },
  });
  const pets: Pet[] = required(listed.data);
  const fetched = await client.GET('/pets/{petId}', { params: { path: { petId: pet.id } } });
  const placed = await client.POST('/store/orders', {
    params: { header: { 'Idempotency-Key': `typed-${pet.id}` } },
    body: { petId: pet.id },
  });
  const order: Order = required(placed.data);
  const orders = await client.GET('/store/orders', { params: { query: { status: ['placed'] } } });
  const one = await client.GET('/store/orders/{orderId}', { params: { path: { orderId: order.id } } });
  const moved = await client.PATCH('/store/orders/{orderId}', {
    params: { path: { orderId: order.id } },
    body: { status: 'approved' },
  });
  await client.PATCH('/store/orders/{orderId}', {
    params: { path: { orderId: order.id } },
    body: { status: 'cancelled' },
  });
  const path = { petId: pet.id };
  const changed = await client.PATCH('/pets/{petId}', { params: { path }, body: { name: 'Bello' } });
  const removed = await client.DELETE('/pets/{petId}', {
    params: { path, header: { 'If-Match': changed.response.headers.get('etag') ?? '' } },
  });
  if (required(changed.data).name !== 'Bello') throw new Error('the animal was not changed');
  if (pets[0]?.id !== pet.id || required(fetched.data).name !== pet.name)
    throw new Error('the lists or the animal are wrong');

  return {
    listPets: listed.response.status,
    createPet: created.response.status,
    createPets: batch.response.status,
    getPet: fetched.response.status,
    listOrders: orders.response.status,
    placeOrder: placed.response.status,
    getOrder: one.response.status,
    updateOrder: moved.response.status,
    updatePet: changed.response.status,
    deletePet: removed.response.status,
  };
}

/** Sends requests that the generated types reject too. @returns the error bodies */
export async function callWrongly(baseUrl: string): Promise<ErrorBody[]> {
  const client = createClient<paths>({ baseUrl });
  const responses = [
    // @ts-expect-error -- categoryId is required
    await client.POST('/pets', { body: { name: 'Rex' } }),
    // @ts-expect-error -- not a status of an animal
    await client.GET('/pets', { params: { query: { status: 'gone' } } }),
    // @ts-expect-error -- not a sort
    await client.GET('/pets', { params: { query: { sort: 'name' } } }),
    // @ts-expect-error -- an integer
    await client.GET('/pets/{petId}', { params: { path: { petId: 'rex' } } }),
  ];
  return responses.map(({ error }) => required(error));
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the response does not have the body that its status promises');
  return value;
}
