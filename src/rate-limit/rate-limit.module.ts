import { Module } from '@nestjs/common';
import { ThrottlerModule, ThrottlerStorage } from '@nestjs/throttler';
import { Clock } from '../time/clock';
import { CONFIG, type Config } from '../config/config';
import { MINUTE_MS } from '../time/time';
import { Bans } from './bans';
import { Persistence } from './persistence.repository';
import { RateLimitStore } from './rate-limit.store';
import { createRedisClient, RedisRateLimitStore } from './redis.store';
import { NO_LIMIT, RouteLimitGuard, ThrottleGuard } from './throttle.guard';

@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      inject: [CONFIG, Clock],
      useFactory: async ({ redisUrl, redisTimeoutMs }: Config, clock: Clock) => ({
        storage: redisUrl
          ? new RedisRateLimitStore(clock, await createRedisClient(redisUrl), redisTimeoutMs)
          : new RateLimitStore(clock),
        throttlers: [{ name: 'default', limit: NO_LIMIT, ttl: MINUTE_MS }],
        // The headers show the windows of the plan.
        setHeaders: false,
      }),
    }),
  ],
  providers: [
    { provide: RateLimitStore, useExisting: ThrottlerStorage },
    Bans,
    Persistence,
    RouteLimitGuard,
    ThrottleGuard,
  ],
  exports: [RateLimitStore, ThrottleGuard],
})
export class RateLimitModule {}
