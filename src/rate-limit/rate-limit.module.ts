import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { ThrottlerModule, ThrottlerStorage } from '@nestjs/throttler';
import { channelToPrimary } from '../platform/runtime/channel';
import { Clock } from '../platform/runtime/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { Bans } from './bans';
import { Limits } from './limits';
import { Persistence } from './persistence';
import { PrimaryStore } from './primary.store';
import { RateLimitRepository } from './rate-limit.repository';
import { RateLimitStore } from './rate-limit.store';
import { RedisConnector } from './redis.client';
import { RedisRateLimitStore } from './redis.store';
import { readThrottlers } from './route-limit';
import { ThrottleGuard } from './throttle.guard';

@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      imports: [DiscoveryModule],
      inject: [CONFIG, Clock, DiscoveryService],
      useFactory: ({ redisUrl, redisTimeoutMs }: Config, clock: Clock, discovery: DiscoveryService) => ({
        storage: channelToPrimary
          ? new PrimaryStore(clock, channelToPrimary)
          : redisUrl
            ? new RedisRateLimitStore(clock, new RedisConnector(redisUrl), redisTimeoutMs)
            : new RateLimitStore(clock),
        throttlers: readThrottlers(discovery.getControllers()),
        // The guard of this module shows the windows.
        setHeaders: false,
      }),
    }),
  ],
  providers: [
    { provide: RateLimitStore, useExisting: ThrottlerStorage },
    Bans,
    ...(channelToPrimary ? [{ provide: Limits, useExisting: ThrottlerStorage }] : [Persistence, Limits]),
    RateLimitRepository,
    ThrottleGuard,
  ],
  exports: [Bans, Limits, RateLimitStore, ThrottleGuard],
})
export class RateLimitModule {}
