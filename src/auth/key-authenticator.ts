import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import type { KnownKey } from './known-keys.repository';
import type { Principal } from '../platform/http/request-context';
import { expiredApiKey, invalidApiKey, revokedApiKey, rotatedOutApiKey } from './auth.errors';
import { Authenticator, type Identity } from './authenticator';
import { bearerToken } from './bearer-token';
import { KeyCache } from './key-cache';
import type { KeyLookup } from './key-lookups';
import { LastUsed } from './last-used';
import { hashOf, isWellFormed, type KeyPrefix, limitsOf, prefixOf } from '../accounts';

/** Finds the principal of a request by an API key in its `Authorization` header. */
@Injectable()
export class KeyAuthenticator extends Authenticator {
  private readonly prefix: KeyPrefix;

  constructor(
    private readonly cache: KeyCache,
    private readonly clock: Clock,
    private readonly lastUsed: LastUsed,
    @Inject(CONFIG) { deployment }: Config,
  ) {
    super();
    this.prefix = prefixOf(deployment);
  }

  /** The result is synchronous if the key is cached or is malformed. */
  override identify(request: FastifyRequest): Identity | Promise<Identity> {
    const secret = bearerToken(request);
    if (typeof secret !== 'string') return secret;
    if (!isWellFormed(secret, this.prefix)) return { rejection: invalidApiKey() };
    const lookup = this.cache.lookup(hashOf(secret));
    return lookup instanceof Promise ? lookup.then((found) => this.judge(found)) : this.judge(lookup);
  }

  private judge(lookup: KeyLookup | undefined): Identity {
    const key = lookup?.key;
    if (!key) return { rejection: invalidApiKey() };
    if (key.revokedAt) return { rejection: revokedApiKey() };
    // Compared on every request, because a cached key may have expired since it was read.
    if (this.isPast(key.secretValidUntil)) return { rejection: rotatedOutApiKey() };
    if (this.isPast(key.expiresAt)) return { rejection: expiredApiKey() };
    this.lastUsed.note(key.id);
    return { principal: principalOf(key) };
  }

  private isPast(time: Date | null): boolean {
    return time !== null && time.getTime() <= this.clock.now();
  }
}

function principalOf(key: KnownKey): Principal {
  return {
    accountId: key.accountId,
    accountName: key.accountName,
    keyId: key.id,
    scopes: key.scopes,
    plan: key.plan,
    limits: limitsOf(key),
    unbannedAt: key.unbannedAt?.getTime() ?? 0,
    label: key.label,
    createdAt: key.createdAt,
    expiresAt: earlier(key.secretValidUntil, key.expiresAt),
  };
}

/** Returns the earlier of two times; null stands for never. */
function earlier(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other;
  return one < other ? one : other;
}
