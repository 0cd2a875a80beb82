import { THROTTLER_LIMIT, THROTTLER_TTL } from '@nestjs/throttler/dist/throttler.constants';
import { UserError } from '../platform/errors/user-error';
import { DAY_MS } from '../platform/runtime/time';
import type { Usage } from './rate-limit.store';

/** A limit that `@Throttle` adds to a route. */
export interface RouteLimit {
  /** The handler: `KennelsController.add`. It names the windows, in every instance and after a restart. */
  readonly place: string;
  /** `short` in `@Throttle({ short: { limit: 5, ttl: 60_000 } })`. */
  readonly name: string;
  readonly limit: number;
  /** The length of the window in milliseconds. */
  readonly ttl: number;
}

/** The window of a limit as the headers show it. */
export type RouteUsage = Usage & RouteLimit;

/** A larger number is inexact in the Redis script, or too long for the documented headers. */
const MAX = { limit: 1_000_000_000, ttl: 366 * DAY_MS } as const;

/** The entries of more limits are longer than the documented length of `RateLimit-Policy`. */
const MAX_LIMITS = 4;

/** The document promises lower-case letters. `minute` and `day` are the windows of the plan. */
const NAME = /^(?!(?:minute|day)$)[a-z]{1,20}$/;

/**
 * Reads the limits of `@Throttle` on a handler and its controller, the shortest window first. An option of the handler
 * replaces that of the controller.
 *
 * @throws UserError for a mistake
 */
export function routeLimitsOf(
  place: string,
  ...targets: readonly [handler: object, controller: object]
): RouteLimit[] {
  const keys = targets.flatMap((target): unknown[] => Reflect.getMetadataKeys(target)).map(String);
  const names = keys
    .filter((key) => key.startsWith(THROTTLER_LIMIT))
    .map((key) => key.slice(THROTTLER_LIMIT.length));
  const limits = [...new Set(names)].map((name) => routeLimitOf(place, name, targets));
  if (limits.length > MAX_LIMITS) {
    throw new UserError(`@Throttle adds ${limits.length} limits to ${place}: use at most ${MAX_LIMITS}.`);
  }
  return limits.sort((one, other) => one.ttl - other.ttl);
}

function routeLimitOf(place: string, name: string, targets: readonly object[]): RouteLimit {
  if (!NAME.test(name)) {
    throw new UserError(
      `The name "${name}" in @Throttle of ${place} is invalid: use 1 to 20 lower-case letters, and not minute or day.`,
    );
  }
  const integer = (option: keyof typeof MAX, key: string): number => {
    const values = targets.map((target): unknown => Reflect.getMetadata(key + name, target));
    const value = values.find((each) => each !== undefined);
    const max = MAX[option];
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw new UserError(
      `The ${option} of "${name}" in @Throttle of ${place} is ${String(value)}: use an integer from 1 to ${max}.`,
    );
  };
  return { place, name, limit: integer('limit', THROTTLER_LIMIT), ttl: integer('ttl', THROTTLER_TTL) };
}
