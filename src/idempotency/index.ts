export { IdempotencyModule } from './idempotency.module';
export { Idempotent, Transaction } from './idempotent.decorator';
