export { OrderEvents } from './order-listeners';
export { ListOrdersQuery } from './store-orders.dto';
export { orderEvents } from './store-orders.events';
export { StoreOrdersModule } from './store-orders.module';
export { isStaff, orderScopes } from './store-orders.scopes';
