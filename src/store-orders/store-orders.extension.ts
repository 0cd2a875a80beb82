import type { Extension } from '../platform/extension/extension';
import { storeOrdersMigrations } from './migrations/store-orders.migrations';
import { orderSettings } from './order-settings';
import { StoreOrdersModule } from './store-orders.module';
import { orderScopes } from './store-orders.scopes';

export const storeOrdersExtension: Extension = {
  name: 'orders',
  modules: [StoreOrdersModule],
  migrations: storeOrdersMigrations,
  settings: orderSettings,
  scopes: Object.values(orderScopes),
  tags: {
    'store orders':
      'Orders of animals. A key sees only the orders of its account; with `orders:manage` those of every account.',
  },
};
