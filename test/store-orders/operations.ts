import {
  BODY,
  CONDITIONAL,
  KEYED,
  LIST,
  type ModuleOperations,
  ONE,
  type Rejection,
} from '../support/module-operations';
import { aNewPet } from '../support/factories';
import type { TestApp } from '../support/app';

export const operations: ModuleOperations = {
  listOrders: {
    route: 'get /store/orders',
    codes: LIST,
    scopes: ['orders:read', 'orders:manage'],
  },
  placeOrder: {
    route: 'post /store/orders',
    codes: { ...KEYED, 404: ['pet_not_found'], 409: ['pet_not_available', ...KEYED[409]] },
    scopes: ['orders:write'],
    isExtension: true,
  },
  getOrder: {
    route: 'get /store/orders/{orderId}',
    codes: { ...ONE, 404: ['order_not_found'] },
    scopes: ['orders:read', 'orders:manage'],
    isExtension: true,
  },
  updateOrder: {
    route: 'patch /store/orders/{orderId}',
    codes: {
      ...BODY,
      ...CONDITIONAL,
      200: [],
      404: ['order_not_found'],
      409: ['pet_not_available', 'invalid_transition'],
    },
    scopes: ['orders:write', 'orders:manage'],
    isExtension: true,
  },
};

export const rejections: readonly Rejection[] = [
  [404, 'order_not_found', (app) => app.get('/v1/store/orders/9999')],
  [409, 'pet_not_available', (app) => order(app, 'sold')],
  [
    409,
    'invalid_transition',
    async (app) => {
      const { id } = (await order(app, 'available')).json;
      return app.send('PATCH', `/v1/store/orders/${id}`, { body: { status: 'delivered' } });
    },
  ],
];

/** Orders a new animal of this status. */
async function order(app: TestApp, status: string) {
  const { id: petId } = (await app.post('/v1/pets', aNewPet({ status }))).json;
  return app.post('/v1/store/orders', { petId });
}
