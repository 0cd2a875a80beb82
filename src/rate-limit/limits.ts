import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { Bans } from './bans';
import { type Decision, type OwnerLimits, RateLimitStore, type Standing } from './rate-limit.store';

type Maybe<T> = T | Promise<T>;

/**
 * Decides on requests by the windows of their owner, and by the ban of their key if they have one. Without Redis it decides
 * synchronously.
 */
@Injectable()
export class Limits {
  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly clock: Clock,
  ) {}

  /** Counts a request. A 429 is a strike of the key. */
  take(owner: string, limits: OwnerLimits, keyId?: string): Maybe<Decision> {
    if (keyId === undefined) return this.store.take(owner, limits);
    const bannedUntil = this.bans.endOf(keyId);
    const now = this.clock.now();
    if (bannedUntil > now)
      return { verdict: 'banned', windows: this.store.peek(owner, limits), now, bannedUntil };
    const made = this.store.take(owner, limits);
    return made instanceof Promise
      ? made.then((decision) => this.bans.record(keyId, decision))
      : this.bans.record(keyId, made);
  }

  /** Returns the windows that all instances share, and the strikes of the key. */
  async look(owner: string, limits: OwnerLimits, keyId = ''): Promise<Standing> {
    return { ...(await this.store.look(owner, limits)), ...this.bans.standing(keyId) };
  }
}
