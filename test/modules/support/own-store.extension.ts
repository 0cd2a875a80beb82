import { Global, Injectable, Module } from '@nestjs/common';
import {
  type Charge,
  Clock,
  type Decision,
  type Extension,
  OWN_RATE_LIMIT_STORE,
  type OwnerLimits,
  RateLimitStore,
  type Windows,
} from '../../../src';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

interface Used {
  minute: number;
  minuteEndsAt: number;
  day: number;
  dayEndsAt: number;
}

/** Counts in a map of its own; without bans. */
@Injectable()
export class OwnRateLimitStore extends RateLimitStore {
  override readonly isShared = false;
  readonly owners = new Map<string, Used>();

  constructor(private readonly clock: Clock) {
    super();
  }

  override take({ owner, limits }: Charge): Decision {
    const now = this.clock.now();
    const used = this.usedAt(owner, limits, now);
    const isFull = used.minute >= limits.perMinute || used.day >= (limits.perDay ?? Infinity);
    if (isFull) return { verdict: 'limited', now, windows: windowsOf(used, limits) };
    used.minute += 1;
    used.day += 1;
    this.owners.set(owner, used);
    return { verdict: 'admitted', now, windows: windowsOf(used, limits) };
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return windowsOf(this.usedAt(owner, limits, this.clock.now()), limits);
  }

  private usedAt(owner: string, { windowMs = MINUTE_MS }: OwnerLimits, now: number): Used {
    const { minute, minuteEndsAt, day, dayEndsAt } = this.owners.get(owner) ?? NOTHING;
    const isMinute = minuteEndsAt > now;
    const isDay = dayEndsAt > now;
    return {
      minute: isMinute ? minute : 0,
      minuteEndsAt: isMinute ? minuteEndsAt : now + windowMs,
      day: isDay ? day : 0,
      dayEndsAt: isDay ? dayEndsAt : (Math.floor(now / DAY_MS) + 1) * DAY_MS,
    };
  }
}

const NOTHING: Used = { minute: 0, minuteEndsAt: 0, day: 0, dayEndsAt: 0 };

function windowsOf(used: Used, { perMinute, perDay }: OwnerLimits): Windows {
  return {
    minute: {
      limit: perMinute,
      remaining: Math.max(0, perMinute - used.minute),
      resetAt: used.minuteEndsAt,
    },
    day:
      perDay === undefined
        ? undefined
        : { limit: perDay, remaining: Math.max(0, perDay - used.day), resetAt: used.dayEndsAt },
  };
}

@Global()
@Module({
  providers: [{ provide: OWN_RATE_LIMIT_STORE, useClass: OwnRateLimitStore }],
  exports: [OWN_RATE_LIMIT_STORE],
})
class OwnStoreModule {}

/** A rate-limit store as a team writes it. */
export const ownStore: Extension = { name: 'own-store', modules: [OwnStoreModule] };
