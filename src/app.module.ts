import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, AuthModule } from './auth';
import type { Clock } from './clock';
import type { Config } from './config/config';
import { DatabaseModule } from './database/database.module';
import { ErrorFilter } from './errors/error.filter';
import { HealthModule } from './health/health.module';
import { ValidationPipe } from './http/validation.pipe';
import { IdempotencyModule } from './idempotency';
import { MetricsModule } from './metrics/metrics.module';
import { PetsModule } from './pets';
import { RateLimitGuard, RateLimitModule } from './rate-limit';
import { RuntimeModule } from './runtime.module';
import { StoreOrdersModule } from './store-orders';

/** A service that knows its database: the embedded server is one like any other once it runs. */
export type ServiceConfig = Config & { readonly databaseUrl: string };

/** The one list of modules, and of what runs for every request behind the door. */
@Module({})
export class AppModule {
  /** @param modules a team's own, beside those of the store */
  static forRoot(config: ServiceConfig, clock: Clock, modules: readonly Type[] = []): DynamicModule {
    return {
      module: AppModule,
      imports: [
        RuntimeModule.forRoot(config, clock),
        DatabaseModule.forRoot(config),
        AuthModule,
        RateLimitModule,
        IdempotencyModule,
        PetsModule,
        StoreOrdersModule,
        HealthModule,
        MetricsModule.forRoot(config),
        ...modules,
      ],
      providers: [
        { provide: APP_GUARD, useExisting: AuthGuard },
        { provide: APP_GUARD, useExisting: RateLimitGuard },
        { provide: APP_PIPE, useClass: ValidationPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
