import { AccountsModule } from '../auth';
import { PetsModule } from '../pets';
import { type EventTypes, StoreExtension } from '../api/extension/extension';
import * as migrations from './migrations/store-orders.migrations';
import { OrderExpiry } from './order-expiry';
import { OrderHooks } from './order-hooks';
import type { OrderStatus } from './order-status';
import { StoreOrdersController } from './store-orders.controller';
import { StoreOrdersRepository } from './store-orders.repository';
import { Order } from './store-orders.dto';
import { orderScopes } from './store-orders.scopes';
import { orderSettings, StoreOrdersService } from './store-orders.service';

const scope = [orderScopes.read, orderScopes.manage] as const;
const facts = { data: Order, scope, staffScope: orderScopes.manage };

/** The events that the triggers of the table write. */
export const orderEventTypes = {
  'order.placed': facts,
  'order.approved': facts,
  'order.delivered': facts,
  'order.cancelled': facts,
} satisfies EventTypes & Record<`order.${OrderStatus}`, object>;

@StoreExtension({
  name: 'orders',
  migrations: Object.values(migrations),
  settings: orderSettings,
  scopes: Object.values(orderScopes),
  events: orderEventTypes,
  tags: {
    'store orders':
      'Orders of animals. A key sees only the orders of its account; with `orders:manage` those of every account.',
  },
  imports: [PetsModule, AccountsModule],
  controllers: [StoreOrdersController],
  providers: [StoreOrdersRepository, StoreOrdersService, OrderHooks, OrderExpiry],
  exports: [StoreOrdersService, OrderHooks],
})
export class StoreOrdersModule {}
