export { OrderHooks } from './order-hooks';
export { orderEventTypes, StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
