export { IdempotencyModule } from './idempotency.module';
export { asIdempotentWork, Transaction } from './idempotent-work';
