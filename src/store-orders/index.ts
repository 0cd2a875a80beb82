export { OrderEvents, type OrderMove } from './order-events';
export { ORDER_STATUSES, type OrderStatus } from './order-status';
export { ListOrdersQuery, type NewOrder, type Order } from './store-orders.dto';
export { orderErrors } from './store-orders.errors';
export { storeOrdersExtension } from './store-orders.extension';
export { StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
export { StoreOrdersService } from './store-orders.service';
export type { OrderKey, StoredOrder } from './store-orders.repository';
