import { randomBytes } from 'node:crypto';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Clock } from '../platform/runtime/clock';
import { type BanPolicy, isOff } from './bans';
import { isOverdrawn, NO_COUNTERS, windowsOf } from './counters';
import type { MemoryRateLimitStore } from './memory.store';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Windows,
} from './rate-limit.store';
import type { RedisLink } from './redis.link';
import type { ScriptResult, ScriptCharge } from './redis.script';

const INSTANCE_ID_BYTES = 6;

/**
 * The windows and bans of all instances that share a Redis. One call of a script decides on a request.
 *
 * If Redis is unavailable, the instance decides locally, starting from its last known counters. It stores every result
 * of the script. Every charge reports the known counters and the requests that were admitted locally, so Redis catches
 * up, even if it lost its data.
 *
 * Each admission, local or by Redis, increases the used requests that this instance knows, and it admits none at the
 * limit. So an instance never admits more than the limit within a window, and N instances never more than N times the
 * limit. See docs/decisions/0010-redis-store.md.
 */
export class RedisRateLimitStore extends RateLimitStore implements OnModuleInit, OnApplicationShutdown {
  private readonly instance = randomBytes(INSTANCE_ID_BYTES).toString('base64url');

  /** @param clock replaces the time of Redis */
  constructor(
    private readonly link: Pick<RedisLink, 'isShared' | 'open' | 'run' | 'close'>,
    private readonly local: MemoryRateLimitStore,
    private readonly banPolicy: BanPolicy,
    private readonly clock: Clock | undefined,
  ) {
    super();
  }

  override get isShared(): boolean {
    return this.link.isShared;
  }

  onModuleInit(): Promise<void> {
    return this.link.open();
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    this.link.close();
  }

  override take(charge: Charge): Decision | Promise<Decision> {
    return this.link.isShared ? this.takeShared(charge) : this.local.take(charge);
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return this.local.peek(owner, limits);
  }

  private async takeShared(charge: Charge): Promise<Decision> {
    const sent = this.scriptCharge(charge);
    let result: ScriptResult;
    try {
      result = await this.link.run(charge.owner, charge.key?.id, sent);
    } catch {
      // A slow Redis may still count the request. Counting twice is better than not at all.
      return this.local.take(charge);
    }
    this.learn(charge, result, sent);
    // The instance may have admitted other requests of the owner locally while this one was under way.
    const isTooMany =
      result.verdict === 'admitted' && isOverdrawn(this.local.known(charge.owner), charge.limits);
    return isTooMany ? this.local.take(charge) : decisionOf(result, charge.limits);
  }

  private scriptCharge({ owner, limits, key }: Charge): ScriptCharge {
    const { minute, day } = this.local.known(owner);
    return {
      instance: this.instance,
      now: this.clock?.now(),
      perMinute: limits.perMinute,
      perDay: limits.perDay,
      windowMs: limits.windowMs,
      minute,
      day,
      key: isOff(this.banPolicy) ? undefined : key && { ...key, ...this.local.keys.lastBan(key.id) },
    };
  }

  private learn({ owner, key }: Charge, result: ScriptResult, sent: ScriptCharge): void {
    if (result.verdict !== 'banned' || result.beganBan) this.local.learn(owner, result, sent);
    if (!key || !sent.key) return;
    const { bannedAt, bannedUntil, beganBan } = result;
    this.local.keys.learnBan({ keyId: key.id, bannedAt, bannedUntil }, sent.key.bannedAt, beganBan);
  }
}

function decisionOf(
  { verdict, now, minute, day, bannedUntil, beganBan }: ScriptResult,
  limits: OwnerLimits,
): Decision {
  const counters = { minute: { ...minute, own: 0 }, day: { ...NO_COUNTERS.day, ...day } };
  return {
    verdict,
    now,
    windows: windowsOf(counters, limits),
    ...(verdict === 'banned' ? { bannedUntil } : {}),
    ...(beganBan ? { beganBan } : {}),
  };
}
