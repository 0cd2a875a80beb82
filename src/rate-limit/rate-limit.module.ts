import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Clock } from '../platform/runtime/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { Bans } from './bans';
import { Persistence } from './persistence';
import { RateLimitRepository } from './rate-limit.repository';
import { RateLimitStore } from './rate-limit.store';
import { RedisConnector } from './redis.client';
import { RedisRateLimitStore } from './redis.store';
import { ThrottleGuard } from './throttle.guard';

@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RateLimitStore,
      inject: [CONFIG, Clock],
      useFactory: ({ redisUrl, redisTimeoutMs }: Config, clock: Clock) =>
        redisUrl
          ? new RedisRateLimitStore(clock, new RedisConnector(redisUrl), redisTimeoutMs)
          : new RateLimitStore(clock),
    },
    Bans,
    Persistence,
    RateLimitRepository,
    ThrottleGuard,
  ],
  exports: [Bans, RateLimitStore, ThrottleGuard],
})
export class RateLimitModule {}
