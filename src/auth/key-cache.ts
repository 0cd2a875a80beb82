import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock } from '../clock';
import { ApiKeysRepository } from './api-keys.repository';
import { KeyLookups, type Lookup } from './key-lookups';

/** Bounds the memory of each cache; beyond it the least used secrets are looked up again. */
const MAX_SECRETS = 100_000;

/**
 * A revocation, rotation or change of plan must be in force within 5 s. The age counts from the moment the database
 * was asked; the second that is left is for the answer.
 */
const LONGEST_AGE_MS = 4_000;

/**
 * Keys seen lately, so that a known key costs no query. Of many concurrent requests with one key a single one asks.
 *
 * Secrets of keys have a cache and lookups of their own: made-up keys can neither evict them nor delay their refresh.
 */
@Injectable()
export class KeyCache {
  private readonly known: LRUCache<string, Lookup>;
  /** Secrets that were not seen before, or belong to no key. */
  private readonly unknown: LRUCache<string, Lookup>;

  constructor(
    keys: ApiKeysRepository,
    private readonly clock: Clock,
  ) {
    const refreshes = new KeyLookups(keys, clock);
    this.known = new LRUCache<string, Lookup>({
      max: MAX_SECRETS,
      fetchMethod: (hash) => refreshes.find(hash),
      // After a failure it is still known to be the secret of a key; its age is checked before it is used.
      noDeleteOnFetchRejection: true,
    });
    const lookups = new KeyLookups(keys, clock);
    this.unknown = new LRUCache<string, Lookup>({
      max: MAX_SECRETS,
      fetchMethod: async (hash) => this.keep(hash, await lookups.find(hash)),
    });
  }

  /** @param hash SHA-256 of the secret as hex */
  lookup(hash: string): Lookup | Promise<Lookup | undefined> {
    const known = this.known.get(hash);
    const found = known ?? this.unknown.get(hash);
    // A clock that was set back must not keep an answer alive: then its age is negative.
    const ageMs = found ? this.clock.now() - found.askedAt : Number.NaN;
    if (found && ageMs >= 0 && ageMs <= LONGEST_AGE_MS) return found;
    // A question already under way is joined; its answer is no older than its own start.
    return (known ? this.known : this.unknown).fetch(hash, { forceRefresh: true });
  }

  private keep(hash: string, found: Lookup): Lookup {
    if (found.key) this.known.set(hash, found);
    return found;
  }
}
