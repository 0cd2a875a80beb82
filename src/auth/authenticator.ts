import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import type { ApiError } from '../errors/api-error';
import type { KnownKey } from './api-keys.repository';
import { countHeader } from '../http/raw-headers';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey, rotatedOutApiKey } from './auth.errors';
import { KeyCache } from './key-cache';
import type { Lookup } from './key-lookups';
import { LastUsed } from './last-used';
import { limitsOf } from './plans';
import type { Principal } from './principal';
import { hashOf, isWellFormed, type KeyPrefix, prefixOf } from './secret';

/** Either whose request it is, or why that cannot be said. */
export type Identity = { readonly principal: Principal } | { readonly refusal: ApiError };

/** The scheme, and what follows it. */
const BEARER = /^bearer(?:[ \t]+(.*))?$/i;

/** Tells from the `Authorization` header whose request it is (RFC 6750, 2.1). */
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

  /** Answers at once for a key seen lately, and for whatever cannot be a key. */
  identify(request: FastifyRequest): Identity | Promise<Identity> {
    const secret = bearerToken(request);
    if (typeof secret !== 'string') return secret;
    if (!isWellFormed(secret, this.prefix)) return { refusal: invalidApiKey() };
    const lookup = this.cache.lookup(hashOf(secret));
    return lookup instanceof Promise ? lookup.then((found) => this.judge(found)) : this.judge(lookup);
  }

  private judge(lookup: Lookup | undefined): Identity {
    const key = lookup?.key;
    if (!key) return { refusal: invalidApiKey() };
    if (key.revokedAt) return { refusal: revokedApiKey() };
    // Compared at every request: what the cache remembers may not outlive either moment.
    if (this.isPast(key.secretValidUntil)) return { refusal: rotatedOutApiKey() };
    if (this.isPast(key.expiresAt)) return { refusal: expiredApiKey() };
    this.lastUsed.note(key.id);
    return { principal: principalOf(key) };
  }

  private isPast(time: Date | null): boolean {
    return time !== null && time.getTime() <= this.clock.now();
  }
}

/** The bearer token, or the refusal of a header without one. */
function bearerToken(request: FastifyRequest): string | Identity {
  // Node keeps the first of several Authorization headers; whoever sends two may mean the other one.
  if (countHeader(request.raw.rawHeaders, 'authorization') > 1) return { refusal: invalidApiKey() };
  const match = BEARER.exec(request.headers.authorization ?? '');
  return match ? (match[1] ?? '') : { refusal: missingApiKey() };
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
