import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Clock, SystemClock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { banPolicyOf } from './bans';
import { BansRepository } from './bans.repository';
import { CounterPersistence } from './counter-persistence';
import { CountersRepository } from './counters.repository';
import { MemoryRateLimitStore } from './memory.store';
import { RateLimitStore } from './rate-limit.store';
import { RedisConnector } from './redis.connector';
import { RedisLink } from './redis.link';
import { rulesOf } from './redis.script';
import { RedisRateLimitStore } from './redis.store';
import { ThrottleGuard } from './throttle.guard';

@Module({
  imports: [DiscoveryModule],
  providers: [
    MemoryRateLimitStore,
    {
      provide: RateLimitStore,
      inject: [CONFIG, MemoryRateLimitStore, Clock],
      useFactory: createRateLimitStore,
    },
    BansRepository,
    CountersRepository,
    CounterPersistence,
    ThrottleGuard,
  ],
  exports: [RateLimitStore, ThrottleGuard],
})
export class RateLimitModule {}

/** Creates the store that REDIS_URL asks for. The Redis store uses the memory store if Redis is unavailable. */
function createRateLimitStore(config: Config, local: MemoryRateLimitStore, clock: Clock): RateLimitStore {
  const { redisUrl, redisTimeoutMs } = config;
  if (redisUrl === undefined) return local;
  const policy = banPolicyOf(config);
  const link = new RedisLink(new RedisConnector(redisUrl), redisTimeoutMs, rulesOf(policy));
  // Redis tells all instances the time, unless the clock is a replacement.
  return new RedisRateLimitStore(link, local, policy, clock instanceof SystemClock ? undefined : clock);
}
