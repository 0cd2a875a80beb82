export { OrderEvents } from './order-listeners';
export { orderEvents } from './store-orders.events';
export { StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
