import axios, { AxiosError } from 'axios';
import * as api from '../generated/clients/orval/api';

export async function flow(baseURL: string, key: string) {
  Object.assign(axios.defaults, { baseURL });
  const options = { headers: { authorization: `Bearer ${key}` } };
  const listed = await api.listPets({ status: 'available' }, options);
  const { data: pet } = await api.createPet({ name: 'Rex', categoryId: 3 }, options);
  const { data: order } = await api.placeOrder({ petId: pet.id }, options);
  const { data: cancelled } = await api.updateOrder(order.id, { status: 'cancelled' }, options);
  const wrong = await api.placeOrder({ petId: 0 }, options).catch((error: unknown) => {
    if (error instanceof AxiosError) return error as AxiosError<api.Error>;
    throw error;
  });
  const message = 'response' in wrong ? wrong.response?.data.message : undefined;
  return [listed.data.length, pet.status, order.status, cancelled.status, message];
}
