import { randomBytes } from 'node:crypto';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Clock } from '../clock';
import { type BanPolicy, isOff } from './bans';
import { isOverdrawn, NOTHING, windowsOf } from './counters';
import type { MemoryRateLimitStore } from './memory.store';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Windows,
} from './rate-limit.store';
import type { RedisLink } from './redis.link';
import type { ScriptAnswer, ScriptCharge } from './redis.script';

const INSTANCE_ID_BYTES = 6;

/**
 * The windows and bans of all instances that share a Redis: one call of a script decides on a request.
 *
 * While Redis is away the instance decides by itself, from what it last knew. Every answer is remembered, and every
 * charge says what is known and what was admitted alone; so Redis catches up, and what it lost it is told again. Each
 * admission, by whomever it was decided, raises what this instance knows to be used, and there is none at the limit:
 * so an instance never admits more than the limit within a window, whatever becomes of Redis, and N instances never
 * more than N times the limit.
 */
export class RedisRateLimitStore extends RateLimitStore implements OnModuleInit, OnApplicationShutdown {
  private readonly instance = randomBytes(INSTANCE_ID_BYTES).toString('base64url');

  /** @param clock in place of the time of Redis */
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

  /** Runs when the last request has been answered. */
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
    let answer: ScriptAnswer;
    try {
      answer = await this.link.run(charge.owner, charge.key?.id, sent);
    } catch {
      // It may yet be counted by a Redis that is only slow: twice rather than not at all.
      return this.local.take(charge);
    }
    this.learn(charge, answer, sent);
    // Others of its requests may have been admitted alone while this one was under way.
    const isTooMany =
      answer.verdict === 'admitted' && isOverdrawn(this.local.known(charge.owner), charge.limits);
    return isTooMany ? this.local.take(charge) : decisionOf(answer, charge.limits);
  }

  private scriptCharge({ owner, limits, key }: Charge): ScriptCharge {
    const { minute, day } = this.local.known(owner);
    return {
      instance: this.instance,
      now: this.clock?.now(),
      perMinute: limits.perMinute,
      perDay: limits.perDay,
      minute,
      day,
      key: isOff(this.banPolicy) ? undefined : key && { ...key, ...this.local.lastBan(key.id) },
    };
  }

  private learn({ owner, key }: Charge, answer: ScriptAnswer, sent: ScriptCharge): void {
    if (answer.verdict !== 'banned' || answer.beganBan) this.local.learn(owner, answer, sent);
    if (!key || !sent.key) return;
    const { bannedAt, bannedUntil, beganBan } = answer;
    this.local.learnBan({ keyId: key.id, bannedAt, bannedUntil }, sent.key.bannedAt, beganBan);
  }
}

function decisionOf(
  { verdict, now, minute, day, bannedUntil, beganBan }: ScriptAnswer,
  limits: OwnerLimits,
): Decision {
  const counters = { minute: { ...minute, own: 0 }, day: { ...NOTHING.day, ...day } };
  return {
    verdict,
    now,
    windows: windowsOf(counters, limits),
    ...(verdict === 'banned' ? { bannedUntil } : {}),
    ...(beganBan ? { beganBan } : {}),
  };
}
