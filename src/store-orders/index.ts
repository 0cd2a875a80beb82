export { StoreOrdersModule } from './store-orders.module';
