export { IdempotencyModule } from './idempotency.module';
export { IDEMPOTENCY_KEY_HEADER, Transaction } from './idempotent-work';
