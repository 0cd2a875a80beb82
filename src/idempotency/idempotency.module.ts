import { Global, Module } from '@nestjs/common';
import { IdempotencyPurge } from './idempotency-purge';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotencyService } from './idempotency.service';

/** For every module: `@Idempotent()` is all that a route needs. */
@Global()
@Module({
  providers: [IdempotencyRepository, IdempotencyService, IdempotencyPurge],
  exports: [IdempotencyService],
})
export class IdempotencyModule {}
