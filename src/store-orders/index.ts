export { OrderEvents } from './order-events';
export { isStaff } from './order-staff';
export { ListOrdersQuery } from './store-orders.dto';
export { storeOrdersExtension } from './store-orders.extension';
export { StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
