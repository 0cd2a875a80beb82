/** How often an owner may ask: an account by its plan, an address by the anonymous budget, which has no day. */
export interface OwnerLimits {
  readonly perMinute: number;
  readonly perDay?: number;
}

/** One request to be charged. */
export interface Charge {
  /** Whose windows: `account:7` or `ip:192.0.2.1`. */
  readonly owner: string;
  readonly limits: OwnerLimits;
  /** The key that was shown: strikes and bans are its own. */
  readonly key?: {
    readonly id: string;
    /** A ban that began before this time (milliseconds) was lifted by hand; 0 for never. */
    readonly unbannedAt: number;
  };
}

/** A window as the client is told of it. */
export interface Usage {
  readonly limit: number;
  /** Requests left, after this one. */
  readonly remaining: number;
  /** When it ends, in milliseconds since the epoch; of a window that has not begun, when it would. */
  readonly resetAt: number;
}

export interface Windows {
  readonly minute: Usage;
  /** Undefined where the owner has no daily limit. */
  readonly day: Usage | undefined;
}

/** What became of a charge. */
export interface Decision {
  readonly verdict: 'admitted' | 'limited' | 'banned';
  readonly windows: Windows;
  /** The store's time, in milliseconds since the epoch. */
  readonly now: number;
  /** With `banned`: when the ban ends. */
  readonly bannedUntil?: number;
  /** True when this very request brought the ban about. */
  readonly beganBan?: true;
}

/**
 * Counts requests in two fixed windows an owner: a minute, which begins with the first request counted in it, and the
 * UTC day. A request is admitted where both have room, and then counted in both; refused, it is counted in neither.
 * Of requests at once, over every instance that shares the store, exactly as many as the limit are admitted.
 */
export abstract class RateLimitStore {
  /** True while the counters are shared with other instances. */
  abstract readonly isShared: boolean;

  /** Decides on one request in one atomic step. It rejects only where the store is broken. */
  abstract take(charge: Charge): Decision | Promise<Decision>;

  /** The windows as this process knows them, without charging anything. */
  abstract peek(owner: string, limits: OwnerLimits): Windows;
}
