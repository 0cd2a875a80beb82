import { Global, Module } from '@nestjs/common';
import { IdempotencyPurge } from './idempotency-purge';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotencyService } from './idempotency.service';
import { IdempotentWork } from './idempotent-work';

/** For every module: a route needs `idempotent: true` in its `@Operation`, and `IdempotentWork`. */
@Global()
@Module({
  providers: [IdempotencyRepository, IdempotencyService, IdempotentWork, IdempotencyPurge],
  exports: [IdempotentWork],
})
export class IdempotencyModule {}
