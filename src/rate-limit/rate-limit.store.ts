import type { RateLimitDecision, Standing, Usage, Windows } from '../platform/routes/request-context';

export type { Standing, Usage, Windows };

/** The limits of an owner: an account has those of its plan, an address and a route have only the first one. */
export interface OwnerLimits {
  readonly perMinute: number;
  readonly perDay?: number;
  /** The length of the first window in milliseconds. Default: a minute. */
  readonly windowMs?: number;
}

/** One request to be charged. */
export interface Charge {
  /** The owner of the windows: `account:7` or `ip:192.0.2.1`. */
  readonly owner: string;
  readonly limits: OwnerLimits;
  /** The key of the request. Strikes and bans belong to the key. */
  readonly key?: {
    readonly id: string;
    /** The time of the last `keys unban` in milliseconds, which lifts earlier bans; 0 for never. */
    readonly unbannedAt: number;
  };
}

/** The decision on a charge. */
export interface Decision extends RateLimitDecision {
  /** The end of the ban, if the verdict is `banned`. */
  readonly bannedUntil?: number;
}

/**
 * Counts requests in two fixed windows of an owner: a minute, which begins with the first counted request, and the UTC day.
 *
 * A request is admitted if both windows have requests left, and then counted in both. A rejected request is counted in
 * neither. The store admits exactly as many concurrent requests as the limit, over all instances that share it.
 */
export abstract class RateLimitStore {
  /** True while the counters are shared with other instances. */
  abstract readonly isShared: boolean;

  /** Decides on one request in one atomic step. Rejects only if the store is broken. */
  abstract take(charge: Charge): Decision | Promise<Decision>;

  /**
   * Returns what a charge would be decided on, and charges nothing: the windows and the strikes that all instances share;
   * if they cannot be read, those that this process knows. Rejects only if the store is broken.
   */
  abstract read(charge: Charge): Standing | Promise<Standing>;

  /** Returns the windows that this process knows, and charges nothing. */
  abstract peek(owner: string, limits: OwnerLimits): Windows;
}
