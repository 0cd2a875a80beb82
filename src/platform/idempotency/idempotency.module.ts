import { Global, Module } from '@nestjs/common';
import { IdempotencyRepository } from './idempotency.repository';

/** For `@Idempotent()` in every module. */
@Global()
@Module({ providers: [IdempotencyRepository], exports: [IdempotencyRepository] })
export class IdempotencyModule {}
