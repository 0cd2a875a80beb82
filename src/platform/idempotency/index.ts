export { IdempotencyModule } from './idempotency.module';
export { IdempotentWork } from './idempotent-work';
