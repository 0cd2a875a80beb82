import { type ExecutionContext, Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { AuthModule } from '../auth';
import { Clock, SystemClock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { banPolicyOf } from './bans';
import { CounterKeeper } from './counter-keeper';
import { DAY_MS, MINUTE_MS } from './counters';
import { CountersRepository } from './counters.repository';
import { limitsOfRequest } from './limits';
import { MemoryRateLimitStore } from './memory.store';
import { RateLimitGuard } from './rate-limit.guard';
import type { OwnerLimits } from './rate-limit.store';
import { RateLimitStore } from './rate-limit.store';
import { createRedisClient } from './redis.client';
import { RedisLink } from './redis.link';
import { rulesOf } from './redis.script';
import { RedisRateLimitStore } from './redis.store';
import { RejectionLog } from './rejection-log';

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
    { provide: RateLimitStore, inject: [CONFIG, MemoryRateLimitStore, Clock], useFactory: createStore },
    CountersRepository,
    CounterKeeper,
    RejectionLog,
    RateLimitGuard,
  ],
  exports: [RateLimitGuard, RateLimitStore],
})
export class RateLimitModule {}

/** REDIS_URL decides; the memory store is then what this process knows and falls back on. */
function createStore(config: Config, local: MemoryRateLimitStore, clock: Clock): RateLimitStore {
  const { redisUrl, redisTimeoutMs } = config;
  if (redisUrl === undefined) return local;
  const policy = banPolicyOf(config);
  const link = new RedisLink(createRedisClient(redisUrl), redisTimeoutMs, rulesOf(policy));
  // The time is that of Redis, one for all instances, unless somebody brought a clock of their own.
  return new RedisRateLimitStore(link, local, policy, clock instanceof SystemClock ? undefined : clock);
}
