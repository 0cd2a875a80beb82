import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey, rotatedOutApiKey } from './auth.errors';
import { Authenticator, type Identity } from './authenticator';
import { KeyCache } from './key-cache';
import type { KeyLookup } from './key-lookups';
import { LastUsed } from './last-used';
import { hashOf, isWellFormed, type KeyPrefix, prefixOf } from '../accounts';

const AUTHORIZATION = /^authorization$/i;
/** The scheme and the token. */
const BEARER = /^bearer(?:[ \t]+(.*))?$/i;

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
    const { principal } = key;
    this.lastUsed.note(principal.keyId);
    return { principal };
  }

  private isPast(time: Date | null): boolean {
    return time !== null && time.getTime() <= this.clock.now();
  }
}

/** Returns the bearer token of a request (RFC 6750, 2.1), or the rejection of a request without exactly one. */
export function bearerToken(request: FastifyRequest): string | { readonly rejection: ApiError } {
  // Node drops all Authorization headers but the first, so a request with two of them is ambiguous.
  const names = request.raw.rawHeaders.filter((text, at) => at % 2 === 0 && AUTHORIZATION.test(text));
  if (names.length > 1) return { rejection: invalidApiKey() };
  const match = BEARER.exec(request.headers.authorization ?? '');
  return match ? (match[1] ?? '') : { rejection: missingApiKey() };
}
