export { OrderEvents } from './order-events';
export { ListOrdersQuery } from './store-orders.dto';
export { orderEvents } from './store-orders.events';
export { StoreOrdersModule } from './store-orders.module';
export { isStaff, orderScopes } from './store-orders.scopes';
