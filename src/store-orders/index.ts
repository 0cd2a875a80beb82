export { storeOrdersExtension } from './store-orders.extension';
export { orderScopes } from './store-orders.scopes';
