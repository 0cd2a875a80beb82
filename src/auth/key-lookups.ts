import type { Clock } from '../platform/runtime/clock';
import { platformErrors } from '../platform/errors/platform.errors';
import type { KnownKeysRepository, KnownKey } from './known-keys.repository';

/** The result of a lookup. `key` is undefined if the secret belongs to no key. */
export interface KeyLookup {
  readonly key: KnownKey | undefined;
  /** Clock time, in milliseconds, at which the query started. */
  readonly askedAt: number;
}

interface Waiting {
  readonly hash: string;
  /** By the monotonic clock, in milliseconds. */
  readonly since: number;
  readonly resolve: (found: KeyLookup) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Secrets in one query. The event loop handles all of their requests in one turn, and other requests wait for it.
 * Measured under a flood: 500 gave the same throughput and three times the latency of a valid key.
 */
export const MAX_HASHES = 100;

/** Bounds the memory of the queue. */
export const MAX_WAITING = 10_000;
const MAX_WAIT_MS = 5_000;

/** The next query starts after this time. At most six queries are concurrent, because no statement takes over 6 s. */
const MAX_TURN_MS = 1_000;

/**
 * Looks up secrets that are not cached, with one query at a time for all that wait. A flood of made-up keys therefore
 * normally holds one connection of the pool. If a query fails, all of its lookups fail.
 */
export class KeyLookups {
  private readonly waiting: Waiting[] = [];
  private isBusy = false;

  constructor(
    private readonly keys: Pick<KnownKeysRepository, 'findBySecretHashes'>,
    private readonly clock: Clock,
  ) {}

  /**
   * @param hash SHA-256 of the secret as hex
   * @throws ApiError 503 if the queue is full or this lookup waited too long
   */
  find(hash: string): Promise<KeyLookup> {
    if (this.waiting.length >= MAX_WAITING) return Promise.reject(platformErrors.service_unavailable());
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

  /** Takes the oldest lookups from the queue, and rejects those that waited too long. */
  private takeBatch(): Waiting[] {
    const expiredSince = performance.now() - MAX_WAIT_MS;
    const batch: Waiting[] = [];
    while (batch.length < MAX_HASHES) {
      const next = this.waiting.shift();
      if (!next) break;
      if (next.since < expiredSince) next.reject(platformErrors.service_unavailable());
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
