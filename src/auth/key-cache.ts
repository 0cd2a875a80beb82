import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock } from '../platform/runtime/clock';
import { KnownKeysRepository } from './known-keys.repository';
import { KeyLookups, type KeyLookup } from './key-lookups';

/** Bounds the memory of the caches. A full cache evicts the least recently used secret. */
const MAX_KNOWN = 100_000;
const MAX_UNKNOWN = 10_000;

/**
 * A revocation, rotation or change of plan must apply within 5 s. The age counts from the start of the query, so 1 s
 * is left for the query itself.
 */
const MAX_AGE_MS = 4_000;

/**
 * Caches keys by the hash of their secret, so that a recently used key costs no query. Concurrent requests with one
 * key share one query.
 *
 * Secrets of real keys have a cache and lookups of their own: made-up keys can neither evict them nor delay them.
 */
@Injectable()
export class KeyCache {
  private readonly known: LRUCache<string, KeyLookup>;
  /** Secrets that are new or belong to no key. */
  private readonly unknown: LRUCache<string, KeyLookup>;

  constructor(
    keys: KnownKeysRepository,
    private readonly clock: Clock,
  ) {
    const refreshes = new KeyLookups(keys, clock);
    this.known = new LRUCache<string, KeyLookup>({
      max: MAX_KNOWN,
      fetchMethod: (hash) => refreshes.find(hash),
      // A failed refresh keeps the entry: it is still the secret of a key. `lookup` checks its age before use.
      noDeleteOnFetchRejection: true,
    });
    const lookups = new KeyLookups(keys, clock);
    this.unknown = new LRUCache<string, KeyLookup>({
      max: MAX_UNKNOWN,
      fetchMethod: async (hash) => this.keep(hash, await lookups.find(hash)),
    });
  }

  /** @param hash SHA-256 of the secret as hex */
  lookup(hash: string): KeyLookup | Promise<KeyLookup | undefined> {
    const known = this.known.get(hash);
    const found = known ?? this.unknown.get(hash);
    // The age is negative after the clock was set back. Such an entry counts as expired.
    const ageMs = found ? this.clock.now() - found.askedAt : Number.NaN;
    if (found && ageMs >= 0 && ageMs <= MAX_AGE_MS) return found;
    // Joins a query that is already running; its `askedAt` is the time at which that query started.
    return (known ? this.known : this.unknown).fetch(hash, { forceRefresh: true });
  }

  private keep(hash: string, found: KeyLookup): KeyLookup {
    if (found.key) this.known.set(hash, found);
    return found;
  }
}
