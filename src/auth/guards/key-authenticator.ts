import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { ApiError } from '../../api/errors/api-error';
import { ADMIN_SCOPE } from '../../api/extension/extension';
import { SCOPES } from '../../api/routes/route-facts';
import { Batches } from '../../database/batches';
import { Clock } from '../../time/clock';
import { CONFIG, type Config } from '../../config/config';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey } from './auth.errors';
import { Authenticator, type Identity } from './authenticator';
import { KnownKeysRepository, type KnownKey } from './known-keys.repository';
import { hashOf, isWellFormed, type KeyPrefix, prefixOf } from '../keys/secret';

const AUTHORIZATION = /^authorization$/i;
const BEARER = /^bearer(?:[ \t]+(.*))?$/i;

/** Bounds the memory of the caches. A full cache evicts the least recently used secret. */
const MAX_KNOWN = 100_000;
const MAX_UNKNOWN = 10_000;

/**
 * A revocation, rotation or change of plan must apply within 5 s. The age counts from the start of the query, so 1 s
 * is left for the query itself.
 */
const MAX_AGE_MS = 4_000;

/** Longest wait of a lookup for its query. */
const MAX_WAIT_MS = 5_000;

/** The result of a lookup. `key` is undefined if the secret belongs to no key. */
interface KeyLookup {
  readonly key: KnownKey | undefined;
  /** Clock time, in milliseconds, at which the query started. */
  readonly askedAt: number;
}

/** Finds the principal of a request by an API key in its `Authorization` header. */
@Injectable()
export class KeyAuthenticator extends Authenticator {
  private readonly prefix: KeyPrefix;
  private readonly cache: KeyCache;

  /** @internal */
  constructor(
    keys: KnownKeysRepository,
    private readonly clock: Clock,
    @Inject(CONFIG) { deployment }: Config,
  ) {
    super();
    this.prefix = prefixOf(deployment);
    this.cache = new KeyCache(keys, clock);
  }

  /** The result is synchronous if the key is cached or is malformed. */
  override identify(request: FastifyRequest): Identity | Promise<Identity> {
    const secret = bearerToken(request);
    if (typeof secret !== 'string') return secret;
    if (!secret.startsWith(this.prefix)) return { rejection: invalidApiKey() };
    const hash = hashOf(secret);
    const known = isAdministrativeChange(request) ? undefined : this.cache.get(hash);
    if (known) return this.judge(known);
    // Only before a query: it takes as long as the rest of this method, and every secret in the cache has passed it.
    if (!isWellFormed(secret)) return { rejection: invalidApiKey() };
    return this.cache.refresh(hash).then((found) => this.judge(found));
  }

  private judge(lookup: KeyLookup | undefined): Identity {
    if (!lookup?.key) return { rejection: invalidApiKey() };
    const { principal, isRevoked, isReplaced } = lookup.key;
    // Compared on every request, because a cached key may have expired since it was read. An unreadable time has passed.
    const isValid = !principal.expiresAt || principal.expiresAt.getTime() > this.clock.now();
    if (!isRevoked && isValid) return { principal };
    const rejection = isRevoked || isReplaced ? revokedApiKey() : expiredApiKey();
    return { rejection, known: principal };
  }
}

/** True for a change that could give a key lasting rights: by a revoked one, not even in the seconds of the cache. */
function isAdministrativeChange(request: FastifyRequest): boolean {
  return request.method !== 'GET' && request.routeOptions.config[SCOPES]?.includes(ADMIN_SCOPE) === true;
}

/** Returns the bearer token of a request (RFC 6750, 2.1), or the rejection of a request without exactly one. */
export function bearerToken(request: FastifyRequest): string | { readonly rejection: ApiError } {
  // Node drops all Authorization headers but the first, so a request with two of them is ambiguous.
  const names = request.raw.rawHeaders.filter((text, at) => at % 2 === 0 && AUTHORIZATION.test(text));
  if (names.length > 1) return { rejection: invalidApiKey() };
  const match = BEARER.exec(request.headers.authorization ?? '');
  return match ? (match[1] ?? '') : { rejection: missingApiKey() };
}

/**
 * Caches keys by the hash of their secret, so that a recently used key costs no query. Concurrent requests with one key
 * share a query, and concurrent lookups share a statement.
 *
 * Secrets of real keys have a cache and lookups of their own: made-up keys can neither evict nor delay them.
 */
class KeyCache {
  private readonly known: LRUCache<string, KeyLookup>;
  /** Secrets that are new or belong to no key. */
  private readonly unknown: LRUCache<string, KeyLookup>;

  constructor(
    keys: KnownKeysRepository,
    private readonly clock: Clock,
  ) {
    const refreshes = this.batches(keys, true);
    this.known = new LRUCache<string, KeyLookup>({
      // With only `max` it would be allocated whole, which takes a twentieth of a start.
      maxSize: MAX_KNOWN,
      sizeCalculation: () => 1,
      fetchMethod: (hash) => refreshes.add(hash),
      // A failed refresh keeps the entry: it is still the secret of a key. `get` checks its age before use.
      noDeleteOnFetchRejection: true,
    });
    const lookups = this.batches(keys, false);
    this.unknown = new LRUCache<string, KeyLookup>({
      // A full cache may evict a lookup under way.
      ignoreFetchAbort: true,
      max: MAX_UNKNOWN,
      fetchMethod: async (hash) => {
        const found = await lookups.add(hash);
        if (found.key) this.known.set(hash, found);
        return found;
      },
    });
  }

  /** @param hash SHA-256 of the secret as hex. @returns undefined if it must be read */
  get(hash: string): KeyLookup | undefined {
    const found = this.known.get(hash) ?? this.unknown.get(hash);
    // The age is negative after the clock was set back. Such an entry counts as expired.
    const ageMs = found ? this.clock.now() - found.askedAt : Number.NaN;
    return ageMs >= 0 && ageMs <= MAX_AGE_MS ? found : undefined;
  }

  /** Reads a key from the database. It joins a query that is already running, whose `askedAt` is the time of its start. */
  refresh(hash: string): Promise<KeyLookup | undefined> {
    return (this.known.has(hash) ? this.known : this.unknown).fetch(hash, { forceRefresh: true });
  }

  private batches(keys: KnownKeysRepository, areKnown: boolean) {
    return new Batches<string, KeyLookup>(
      async (hashes) => {
        const askedAt = this.clock.now();
        const found = await keys.find(hashes, areKnown);
        return hashes.map((hash) => ({ key: found.get(hash), askedAt }));
      },
      // A flood of made-up keys holds one connection of the pool.
      { maxRunning: areKnown ? 2 : 1, maxWaitMs: MAX_WAIT_MS },
    );
  }
}
