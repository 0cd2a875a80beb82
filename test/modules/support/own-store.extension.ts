import { Global, Inject, Injectable, Module } from '@nestjs/common';
import {
  banPolicyOf,
  type Charge,
  Clock,
  CONFIG,
  type Config,
  type Decision,
  type Extension,
  KeyHistories,
  OWN_RATE_LIMIT_STORE,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  type Usage,
  type Windows,
} from '../../../src';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Window {
  readonly used: number;
  readonly endsAt: number;
}

interface Used {
  readonly minute: Window;
  readonly day: Window;
}

/** Counts in a map of its own. The bans are those of the store. */
@Injectable()
export class OwnRateLimitStore extends RateLimitStore {
  override readonly isShared = false;
  readonly owners = new Map<string, Used>();
  private readonly keys: KeyHistories;

  constructor(
    private readonly clock: Clock,
    @Inject(CONFIG) config: Pick<Config, 'rateLimitBanAfter' | 'rateLimitBanSeconds'>,
  ) {
    super();
    this.keys = new KeyHistories(banPolicyOf(config));
  }

  override take({ owner, limits, key }: Charge): Decision {
    const now = this.clock.now();
    const used = this.usedAt(owner, limits, now);
    const history = key && this.keys.find(key, now);
    if (history && history.bannedUntil > now) {
      return { verdict: 'banned', now, windows: windowsOf(used, limits), bannedUntil: history.bannedUntil };
    }
    const { minute, day } = used;
    const windows = windowsOf(used, limits);
    if (windows.minute.remaining === 0 || windows.day?.remaining === 0) {
      return this.reject(windows, now, key?.id);
    }
    const counted = {
      minute: { ...minute, used: minute.used + 1 },
      day: { ...day, used: day.used + (windows.day ? 1 : 0) },
    };
    this.owners.set(owner, counted);
    if (key && history) this.keys.recordAdmission(key.id, history);
    return { verdict: 'admitted', now, windows: windowsOf(counted, limits) };
  }

  override read({ owner, limits, key }: Charge): Standing {
    const now = this.clock.now();
    return { now, windows: this.peek(owner, limits), ...this.keys.standing(key, now) };
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return windowsOf(this.usedAt(owner, limits, this.clock.now()), limits);
  }

  private reject(windows: Windows, now: number, keyId: string | undefined): Decision {
    const ends = [windows.minute, windows.day].filter((each) => each?.remaining === 0);
    const resetAt = Math.max(...ends.map((each) => each?.resetAt ?? 0));
    const bannedUntil = keyId === undefined ? undefined : this.keys.recordRejection(keyId, now, resetAt);
    if (bannedUntil === undefined) return { verdict: 'limited', now, windows };
    return { verdict: 'banned', now, windows, bannedUntil, beganBan: true };
  }

  private usedAt(owner: string, { windowMs = MINUTE_MS }: OwnerLimits, now: number): Used {
    const ends = { minute: now + windowMs, day: (Math.floor(now / DAY_MS) + 1) * DAY_MS };
    // A window never becomes longer, also if the clock is set back. It begins with a counted request, not here.
    const known = shorter(this.owners.get(owner) ?? NOTHING, ends);
    this.owners.set(owner, known);
    return {
      minute: known.minute.endsAt > now ? known.minute : { used: 0, endsAt: ends.minute },
      day: known.day.endsAt > now ? known.day : { used: 0, endsAt: ends.day },
    };
  }
}

const NOTHING: Used = { minute: { used: 0, endsAt: 0 }, day: { used: 0, endsAt: 0 } };

function shorter({ minute, day }: Used, ends: { readonly minute: number; readonly day: number }): Used {
  return {
    minute: { used: minute.used, endsAt: Math.min(minute.endsAt, ends.minute) },
    day: { used: day.used, endsAt: Math.min(day.endsAt, ends.day) },
  };
}

function windowsOf({ minute, day }: Used, { perMinute, perDay }: OwnerLimits): Windows {
  return { minute: usageOf(minute, perMinute), day: perDay === undefined ? undefined : usageOf(day, perDay) };
}

function usageOf({ used, endsAt }: Window, limit: number): Usage {
  return { limit, remaining: Math.max(0, limit - used), resetAt: endsAt };
}

@Global()
@Module({
  providers: [{ provide: OWN_RATE_LIMIT_STORE, useClass: OwnRateLimitStore }],
  exports: [OWN_RATE_LIMIT_STORE],
})
class OwnStoreModule {}

/** A rate-limit store as a team writes it. */
export const ownStore: Extension = { name: 'own-store', modules: [OwnStoreModule] };
