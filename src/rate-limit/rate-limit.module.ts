import { type ExecutionContext, Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { AuthModule } from '../auth';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { CounterKeeper } from './counter-keeper';
import { DAY_MS, MINUTE_MS } from './counters';
import { CountersRepository } from './counters.repository';
import { limitsOfRequest } from './limits';
import { MemoryRateLimitStore } from './memory.store';
import { RateLimitGuard } from './rate-limit.guard';
import type { OwnerLimits } from './rate-limit.store';
import { RateLimitStore } from './rate-limit.store';

@Module({
  imports: [
    AuthModule,
    ThrottlerModule.forRootAsync({
      inject: [CONFIG],
      useFactory: (config: Config) => {
        const limits = (context: ExecutionContext): OwnerLimits =>
          limitsOfRequest(context.switchToHttp().getRequest<FastifyRequest>(), config);
        return [
          { name: 'minute', ttl: MINUTE_MS, limit: (context) => limits(context).perMinute },
          { name: 'day', ttl: DAY_MS, limit: (context) => limits(context).perDay ?? Infinity },
        ];
      },
    }),
  ],
  providers: [
    MemoryRateLimitStore,
    { provide: RateLimitStore, useExisting: MemoryRateLimitStore },
    CountersRepository,
    CounterKeeper,
    RateLimitGuard,
  ],
  exports: [RateLimitGuard],
})
export class RateLimitModule {}
