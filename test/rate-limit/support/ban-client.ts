import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { readConfig } from '../../../src/platform/config/config';
import { Bans } from '../../../src/rate-limit/bans';
import type { Ban, RateLimitRepository } from '../../../src/rate-limit/rate-limit.repository';
import { type Decision, type OwnerLimits, RateLimitStore } from '../../../src/rate-limit/rate-limit.store';
import { Limits } from '../../../src/rate-limit/limits';
import { readThrottlers } from '../../../src/rate-limit/route-limit';
import { ThrottleGuard } from '../../../src/rate-limit/throttle.guard';
import { TestClock } from '../../support/clock';

const LIMITS = { perMinute: 2, perDay: 1_000_000 };

/** Sends the requests of one account, most of them with one key, through the guard of an instance without Redis. */
export class BanClient {
  readonly bans: Bans;
  private readonly clock = new TestClock();
  private readonly guard: ThrottleGuard;

  constructor(settings: Readonly<Record<string, string>> = { RATE_LIMIT_BAN_AFTER: '3' }) {
    const config = readConfig(settings);
    const rows = new Map<string, Ban>();
    const repository = {
      saveBan: async (ban: Ban) => void rows.set(ban.keyId, ban),
      readBans: async () => [...rows.values()],
    };
    this.bans = new Bans(repository as unknown as RateLimitRepository, this.clock, config);
    const store = new RateLimitStore(this.clock);
    const limits = new Limits(store, this.bans, this.clock);
    this.guard = new ThrottleGuard(readThrottlers([]), store, new Reflector(), limits, config);
    void this.guard.onModuleInit();
  }

  get now(): number {
    return this.clock.now();
  }

  take(keyId = 'key', limits: OwnerLimits = LIMITS): Decision {
    const request: { rateLimit?: Decision } & object = Object.assign(
      { raw: {}, routeOptions: { config: {} } },
      { principal: { accountId: 1n, keyId, limits } },
    );
    const http = { getRequest: () => request, getResponse: () => ({ headers: () => undefined }) };
    const context = { switchToHttp: () => http, getHandler: () => this, getClass: () => BanClient };
    try {
      void this.guard.canActivate(context as unknown as ExecutionContext);
    } catch {
      // The decision has the reason.
    }
    return request.rateLimit!;
  }

  standing(keyId = 'key') {
    return this.bans.standing(keyId);
  }

  wait(seconds: number): void {
    this.clock.advance({ seconds });
  }

  takeAfter(seconds: number): Decision {
    this.wait(seconds);
    return this.take();
  }

  /** Uses up the minute, gets one 429 and then a strike a second. @returns the last decision */
  hammer(strikes: number): Decision {
    for (let at = 0; at < 3; at += 1) this.take();
    this.wait(1);
    for (let at = 1; at < strikes; at += 1) this.takeAfter(1);
    return this.takeAfter(1);
  }
}
