import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { banPolicyOf, isOff, type Standing, type Usage } from '../rate-limit';
import type { ApiKey, ApiKeyWindow } from './key.dto';

@Injectable()
export class KeyService {
  /** The number of strikes that ban a key; 0 if bans are switched off. */
  private readonly banAfter: number;

  constructor(@Inject(CONFIG) config: Config) {
    const policy = banPolicyOf(config);
    this.banAfter = isOff(policy) ? 0 : policy.strikes;
  }

  /** Describes the key of a request, with the windows of its account. */
  describe(principal: Principal, { windows, strikes, bannedUntil }: Standing): ApiKey {
    const { minute, day } = windows;
    if (!day) throw new Error('the rate-limit store has no daily window of an account');
    return {
      id: principal.keyId,
      label: principal.label ?? null,
      account: principal.accountName,
      plan: principal.plan,
      scopes: principal.scopes,
      createdAt: principal.createdAt?.toISOString() ?? null,
      expiresAt: principal.expiresAt?.toISOString() ?? null,
      limits: { minute: windowOf(minute), day: windowOf(day) },
      strikes: {
        count: strikes,
        banAfter: this.banAfter,
        bannedUntil: bannedUntil === undefined ? null : timeOf(bannedUntil),
      },
    };
  }
}

function windowOf({ limit, remaining, resetAt }: Usage): ApiKeyWindow {
  return { limit, remaining, resetAt: timeOf(resetAt) };
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
