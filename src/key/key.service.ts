import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth';
import { Bans, type Standing, type Usage } from '../rate-limit';
import type { ApiKey, ApiKeyWindow } from './key.dto';

@Injectable()
export class KeyService {
  constructor(private readonly bans: Bans) {}

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
        banAfter: this.bans.banAfter,
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
