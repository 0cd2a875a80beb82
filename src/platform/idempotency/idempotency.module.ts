import { Global, Module } from '@nestjs/common';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotentWork } from './idempotent-work';

/** For every module: a route needs `idempotent: true` in its `@Operation`, and `IdempotentWork`. */
@Global()
@Module({ providers: [IdempotencyRepository, IdempotentWork], exports: [IdempotentWork] })
export class IdempotencyModule {}
