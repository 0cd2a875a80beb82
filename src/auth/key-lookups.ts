import type { Clock } from '../clock';
import { serviceUnavailable } from '../errors/http.errors';
import type { ApiKeysRepository, KnownKey } from './api-keys.repository';

/** What the database said of a secret: `key` is undefined where it belongs to no key. */
export interface Lookup {
  readonly key: KnownKey | undefined;
  /** Clock time, in milliseconds, at which the question was asked. */
  readonly askedAt: number;
}

interface Waiting {
  readonly hash: string;
  /** By the monotonic clock, in milliseconds. */
  readonly since: number;
  readonly resolve: (found: Lookup) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Secrets of one query. The event loop answers all of their requests in one go, and everything else waits for that:
 * measured under a flood, 500 gave no more throughput and thrice the latency of a valid key.
 */
export const MAX_HASHES = 100;

/** Bounds the memory of those that wait. */
export const MAX_WAITING = 10_000;
const MAX_WAIT_MS = 5_000;

/** A query that takes longer does not hold up the next one. No statement takes longer than six of these. */
const MAX_TURN_MS = 1_000;

/**
 * Looks up secrets that are not cached, with one query at a time for those that wait. So made-up keys, however many,
 * normally hold one connection of the pool. If a query fails, all of its lookups fail.
 */
export class KeyLookups {
  private readonly waiting: Waiting[] = [];
  private isBusy = false;

  constructor(
    private readonly keys: Pick<ApiKeysRepository, 'findBySecretHashes'>,
    private readonly clock: Clock,
  ) {}

  /**
   * @param hash SHA-256 of the secret as hex
   * @throws ApiError 503 if too many wait, or this one waited too long
   */
  find(hash: string): Promise<Lookup> {
    if (this.waiting.length >= MAX_WAITING) return Promise.reject(serviceUnavailable());
    return new Promise((resolve, reject) => {
      this.waiting.push({ hash, since: performance.now(), resolve, reject });
      if (!this.isBusy) this.beginTurn();
    });
  }

  private beginTurn(): void {
    const batch = this.takeBatch();
    this.isBusy = batch.length > 0;
    if (!this.isBusy) return;
    let isOver = false;
    const endTurn = (): void => {
      clearTimeout(timer);
      if (!isOver) this.beginTurn();
      isOver = true;
    };
    const timer = setTimeout(endTurn, MAX_TURN_MS);
    void this.lookUp(batch).then(endTurn);
  }

  /** The oldest first; those that waited too long are rejected. */
  private takeBatch(): Waiting[] {
    const expiredSince = performance.now() - MAX_WAIT_MS;
    const batch: Waiting[] = [];
    while (batch.length < MAX_HASHES) {
      const next = this.waiting.shift();
      if (!next) break;
      if (next.since < expiredSince) next.reject(serviceUnavailable());
      else batch.push(next);
    }
    return batch;
  }

  private async lookUp(batch: readonly Waiting[]): Promise<void> {
    const askedAt = this.clock.now();
    try {
      const found = await this.keys.findBySecretHashes(batch.map(({ hash }) => hash));
      for (const { hash, resolve } of batch) resolve({ key: found.get(hash), askedAt });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
