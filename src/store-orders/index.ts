export { OrderEvents, type OrderMove } from './order-events';
export { orderErrors } from './store-orders.errors';
export { storeOrdersExtension } from './store-orders.extension';
export { StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
export { StoreOrdersService } from './store-orders.service';
