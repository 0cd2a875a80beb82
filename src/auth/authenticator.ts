import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import type { ApiError } from '../platform/errors/api-error';
import type { KnownKey } from './known-keys.repository';
import { countHeader } from '../platform/http/raw-headers';
import type { Principal } from '../platform/http/request-context';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey, rotatedOutApiKey } from './auth.errors';
import { KeyCache } from './key-cache';
import type { KeyLookup } from './key-lookups';
import { LastUsed } from './last-used';
import { hashOf, isWellFormed, type KeyPrefix, limitsOf, prefixOf } from '../accounts';

/** The principal of a request, or the error that explains why it has none. */
export type Identity = { readonly principal: Principal } | { readonly rejection: ApiError };

/** The scheme and the token. */
const BEARER = /^bearer(?:[ \t]+(.*))?$/i;

/** Finds the principal of a request by its `Authorization` header (RFC 6750, 2.1). */
@Injectable()
export class Authenticator {
  private readonly prefix: KeyPrefix;

  constructor(
    private readonly cache: KeyCache,
    private readonly clock: Clock,
    private readonly lastUsed: LastUsed,
    @Inject(CONFIG) { deployment }: Config,
  ) {
    this.prefix = prefixOf(deployment);
  }

  /** Identifies a request. The result is synchronous if the key is cached or is malformed. */
  identify(request: FastifyRequest): Identity | Promise<Identity> {
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

/** Returns the bearer token, or the rejection of a request without one. */
function bearerToken(request: FastifyRequest): string | Identity {
  // Node drops all Authorization headers but the first, so a request with two of them is ambiguous.
  if (countHeader(request.raw.rawHeaders, 'authorization') > 1) return { rejection: invalidApiKey() };
  const match = BEARER.exec(request.headers.authorization ?? '');
  return match ? (match[1] ?? '') : { rejection: missingApiKey() };
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
  };
}
