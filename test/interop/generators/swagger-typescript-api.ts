import {
  Api,
  type Error,
  type HttpResponse,
  OrderStatus,
  PetStatus,
} from '../generated/clients/swagger-typescript-api/Api';

export async function flow(baseUrl: string, key: string) {
  const baseApiParams = { headers: { authorization: `Bearer ${key}` } };
  const { pets, store } = new Api({ baseUrl, baseApiParams });
  const listed = await pets.listPets({ status: PetStatus.Available });
  const created = await pets.createPet({ name: 'Rex', categoryId: 3 });
  const placed = await store.placeOrder({ petId: created.data.id });
  const cancelled = await store.updateOrder(placed.data.id, { status: OrderStatus.Cancelled });
  // It throws the response of an error.
  const wrong = await store
    .placeOrder({ petId: 0 })
    .catch((response: HttpResponse<never, Error>) => response);
  return [
    listed.data.length,
    created.data.status,
    placed.data.status,
    cancelled.data.status,
    wrong.error.message,
  ];
}
