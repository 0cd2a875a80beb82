export { IdempotencyModule } from './idempotency.module';
export { Idempotent } from './idempotent.decorator';
export { IdempotentWork } from './idempotent-work';
