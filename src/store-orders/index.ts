export { OrderEvents } from './order-events';
export { ListOrdersQuery } from './store-orders.dto';
export { StoreOrdersModule } from './store-orders.module';
export { isStaff, orderScopes } from './store-orders.scopes';
