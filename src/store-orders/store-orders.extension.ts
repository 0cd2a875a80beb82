import type { Extension } from '../platform/extension/extension';
import { StoreOrders1795219200003 } from './migrations/0004-store-orders';
import { OrdersOnce1795219200004 } from './migrations/0005-orders-once';
import { ManagedOrders1795219200009 } from './migrations/0010-managed-orders';
import { OrdersOrder1795219200011 } from './migrations/0012-orders-order';
import { StoreOrdersModule } from './store-orders.module';
import { orderScopes } from './store-orders.scopes';

export const storeOrdersExtension: Extension = {
  name: 'orders',
  modules: [StoreOrdersModule],
  migrations: [
    StoreOrders1795219200003,
    OrdersOnce1795219200004,
    ManagedOrders1795219200009,
    OrdersOrder1795219200011,
  ],
  scopes: Object.values(orderScopes),
  tags: {
    'store orders':
      'Orders of animals. A key sees only the orders of its account; with `orders:manage` those of every account.',
  },
};
