import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AccountsModule } from '../accounts';
import { AuthModule, FallbackAuthGuard } from '../auth';
import type { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { DatabaseModule } from '../platform/database/database.module';
import { ErrorFilter } from '../platform/edge/error.filter';
import { HealthModule } from '../platform/health/health.module';
import { StrictDtoPipe } from '../platform/http/strict-dto.pipe';
import { IdempotencyModule } from '../platform/idempotency';
import { MetricsModule } from '../platform/metrics/metrics.module';
import { FallbackRateLimitGuard, RateLimitModule, RouteLimitGuard } from '../rate-limit';
import { RuntimeModule } from '../platform/runtime/runtime.module';
import type { Store } from './store';

/** The settings with the URL of the database, that of the running embedded server included. */
export type ServiceConfig = Config & { readonly databaseUrl: string };

/** Lists the modules that every request needs, and the guards, the pipe and the filter that run for every request after the request checks. */
@Module({})
export class AppModule {
  static forRoot(config: ServiceConfig, clock: Clock, store: Store): DynamicModule {
    return {
      module: AppModule,
      imports: [
        RuntimeModule.forRoot(config, clock),
        DatabaseModule.forRoot(config),
        AccountsModule,
        AuthModule,
        RateLimitModule,
        IdempotencyModule,
        ...store.modules(config),
        HealthModule,
        MetricsModule.forRoot(config),
      ],
      providers: [
        { provide: APP_GUARD, useExisting: FallbackAuthGuard },
        { provide: APP_GUARD, useExisting: FallbackRateLimitGuard },
        { provide: APP_GUARD, useExisting: RouteLimitGuard },
        { provide: APP_PIPE, useClass: StrictDtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
