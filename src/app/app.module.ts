import { type DynamicModule, Global, Module, type VersioningOptions, VersioningType } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AccessGuard, AccountsModule, AuthModule, BearerGuard } from '../auth';
import type { Clock } from '../time/clock';
import type { DatabaseConfig } from '../database/data-source';
import { RunningInstances } from '../database/running-instances';
import { ErrorFilter } from '../http/error.filter';
import { Connections } from '../http/connections';
import { RouteMethods, UnroutedController } from '../http/route-methods';
import { IdempotencyRepository } from '../api/idempotency/idempotency.repository';
import { RateLimitModule, ThrottleGuard } from '../rate-limit';
import { CoreModule } from './core.module';
import { ApiValidationPipe } from '../api/fields/validation.pipe';
import type { Store } from './store';

/** The addresses of a controller begin with /v1 unless it names another version. */
export const VERSIONING: VersioningOptions = { type: VersioningType.URI, defaultVersion: '1' };

/** For `@Idempotent()` in every module. */
@Global()
@Module({ providers: [IdempotencyRepository], exports: [IdempotencyRepository] })
class IdempotencyModule {}

/**
 * Lists the modules that every request needs, and the guards, the pipe and the filter of every request. The guards of
 * extensions run after this list, and before the body is read.
 */
// Nest adds it after the modules of `forRoot`, so it stops before the one with the pool.
@Module({ imports: [RunningInstances] })
export class AppModule {
  /** @param connections undefined for a preview, which has no listener */
  static forRoot(
    config: DatabaseConfig,
    clock: Clock,
    store: Store,
    connections?: Connections,
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreModule.forRoot(config, clock, store),
        AccountsModule,
        AuthModule,
        RateLimitModule,
        IdempotencyModule,
        ...store.modules(config),
      ],
      controllers: [UnroutedController],
      providers: [
        RouteMethods,
        { provide: Connections, useValue: connections },
        // Whose request is it; 429; 401 and 403.
        { provide: APP_GUARD, useExisting: BearerGuard },
        { provide: APP_GUARD, useExisting: ThrottleGuard },
        { provide: APP_GUARD, useExisting: AccessGuard },
        { provide: APP_PIPE, useClass: ApiValidationPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
