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
  type Standing,
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

  override read(charge: Charge): Standing | Promise<Standing> {
    return this.link.isShared ? this.readShared(charge) : this.local.read(charge);
  }

  override peek(owner: string, limits: OwnerLimits): Windows {
    return this.local.peek(owner, limits);
  }

  private async takeShared(charge: Charge): Promise<Decision> {
    const result = await this.run(charge, false);
    // A slow Redis may still count the request. Counting twice is better than not at all.
    if (!result) return this.local.take(charge);
    // The instance may have admitted other requests of the owner locally while this one was under way.
    const isTooMany =
      result.verdict === 'admitted' && isOverdrawn(this.local.known(charge.owner), charge.limits);
    return isTooMany ? this.local.take(charge) : decisionOf(result, charge.limits);
  }

  private async readShared(charge: Charge): Promise<Standing> {
    const result = await this.run(charge, true);
    if (!result) return this.local.read(charge);
    const { now, strikes, bannedUntil } = result;
    const standing = { windows: sharedWindows(result, charge.limits), now, strikes };
    return bannedUntil > now ? { ...standing, bannedUntil } : standing;
  }

  /** Runs the script, and stores what it reports. @returns undefined if Redis is unavailable */
  private async run(charge: Charge, isReading: boolean): Promise<ScriptResult | undefined> {
    const sent = this.scriptCharge(charge, isReading);
    try {
      const result = await this.link.run(charge.owner, charge.key?.id, sent);
      this.learn(charge, result, sent);
      return result;
    } catch {
      return undefined;
    }
  }

  private scriptCharge({ owner, limits, key }: Charge, isReading: boolean): ScriptCharge {
    const { minute, day } = this.local.known(owner);
    return {
      instance: this.instance,
      isReading,
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

function decisionOf(result: ScriptResult, limits: OwnerLimits): Decision {
  const { verdict, now, bannedUntil, beganBan } = result;
  return {
    verdict,
    now,
    windows: sharedWindows(result, limits),
    ...(verdict === 'banned' ? { bannedUntil } : {}),
    ...(beganBan ? { beganBan } : {}),
  };
}

function sharedWindows({ minute, day }: ScriptResult, limits: OwnerLimits): Windows {
  return windowsOf({ minute: { ...minute, own: 0 }, day: { ...NO_COUNTERS.day, ...day } }, limits);
}
