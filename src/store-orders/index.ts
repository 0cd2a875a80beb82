export { OrderEvents } from './order-events';
export { isStaff } from './order-staff';
export { ListOrdersQuery } from './store-orders.dto';
export { orderEvents } from './store-orders.events';
export { StoreOrdersModule } from './store-orders.module';
export { orderScopes } from './store-orders.scopes';
