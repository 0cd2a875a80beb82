import type { ExecutionContext } from '@nestjs/common';
import type { Resolvable } from '@nestjs/throttler';
import { UserError } from '../platform/errors/user-error';
import { DAY_MS } from '../platform/runtime/time';
import type { Usage } from './rate-limit.store';

/** A limit that `@Throttle` adds to a route. */
export interface RouteLimit {
  /** The handler: `KennelsController.add`. */
  readonly place: string;
  /** `short` in `@Throttle({ short: { limit: 5, ttl: 60_000 } })`. */
  readonly name: string;
  readonly limit: Resolvable<number>;
  /** The length of the window in milliseconds. */
  readonly ttl: Resolvable<number>;
}

/** A limit for one request: its functions have run. */
export interface ResolvedLimit extends RouteLimit {
  readonly limit: number;
  readonly ttl: number;
}

/** The window of a limit as the headers show it. */
export type RouteUsage = Usage & ResolvedLimit;

/** A larger number is inexact in the Redis script, or too long for the documented headers. */
const MAX = { limit: 1_000_000_000, ttl: 366 * DAY_MS } as const;

/** Calls the functions of a limit. @throws UserError if a result is invalid */
export async function resolveLimit(limit: RouteLimit, context: ExecutionContext): Promise<ResolvedLimit> {
  return {
    ...limit,
    limit: requireInteger(limit, 'limit', await valueOf(limit.limit, context)),
    ttl: requireInteger(limit, 'ttl', await valueOf(limit.ttl, context)),
  };
}

/** @throws UserError unless the limit or ttl is a positive integer within its bound */
export function requireInteger(
  { place, name }: Pick<RouteLimit, 'place' | 'name'>,
  option: keyof typeof MAX,
  value: unknown,
): number {
  const max = MAX[option];
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new UserError(
    `The ${option} of "${name}" in @Throttle of ${place} is ${String(value)}: use an integer from 1 to ${max}.`,
  );
}

function valueOf(value: Resolvable<number>, context: ExecutionContext): number | Promise<number> {
  return typeof value === 'function' ? value(context) : value;
}
