export { OrderEvents } from './order-listeners';
export { orderEvents, StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
