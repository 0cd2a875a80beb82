export { IdempotencyModule } from './idempotency.module';
export { IDEMPOTENCY_KEY_HEADER, Idempotent, type Once, requireOnce } from './idempotent.decorator';
