import { Global, Module } from '@nestjs/common';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotentWork } from './idempotent-work';

/** For `@Idempotent()` in every module. */
@Global()
@Module({ providers: [IdempotencyRepository, IdempotentWork], exports: [IdempotentWork] })
export class IdempotencyModule {}
