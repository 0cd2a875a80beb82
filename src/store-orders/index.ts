export { storeOrdersExtension } from './store-orders.extension';
