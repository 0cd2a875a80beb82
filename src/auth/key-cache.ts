import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock } from '../clock';
import { ApiKeysRepository, type KnownKey } from './api-keys.repository';

/** What the database said of a secret: `key` is undefined where it belongs to no key. */
export interface Lookup {
  readonly key: KnownKey | undefined;
  /** Clock time, in milliseconds, at which the question was asked. */
  readonly askedAt: number;
}

/** Bounds the memory that made-up keys can take; beyond it the least used are asked for again. */
const MOST_KEYS = 100_000;

/**
 * A revocation, rotation or change of plan must be in force within 5 s. The age counts from the moment the database
 * was asked; the second that is left is for the answer.
 */
const LONGEST_AGE_MS = 4_000;

/** Keys seen lately, so that a known key costs no query. Of many requests at once with one key a single one asks. */
@Injectable()
export class KeyCache {
  private readonly known: LRUCache<string, Lookup>;

  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly clock: Clock,
  ) {
    this.known = new LRUCache<string, Lookup>({ max: MOST_KEYS, fetchMethod: (hash) => this.ask(hash) });
  }

  /** @param hash SHA-256 of the secret as hex */
  lookup(hash: string): Lookup | Promise<Lookup | undefined> {
    const found = this.known.get(hash);
    // A clock that was set back must not keep an answer alive: then its age is negative.
    const ageMs = found ? this.clock.now() - found.askedAt : Number.NaN;
    if (found && ageMs >= 0 && ageMs <= LONGEST_AGE_MS) return found;
    // A question already under way is joined; its answer is no older than its own start.
    return this.known.fetch(hash, { forceRefresh: true });
  }

  private async ask(hash: string): Promise<Lookup> {
    const askedAt = this.clock.now();
    return { key: await this.keys.findBySecretHash(hash), askedAt };
  }
}
