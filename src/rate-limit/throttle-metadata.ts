import type { Type } from '@nestjs/common';
import type { Resolvable } from '@nestjs/throttler';
import {
  THROTTLER_BLOCK_DURATION,
  THROTTLER_KEY_GENERATOR,
  THROTTLER_LIMIT,
  THROTTLER_SKIP,
  THROTTLER_TRACKER,
  THROTTLER_TTL,
} from '@nestjs/throttler/dist/throttler.constants';
import { UserError } from '../platform/errors/user-error';
import { requireInteger, type RouteLimit } from './route-limit';

/** A method of a controller that serves a route. */
export interface Handler {
  /** `KennelsController.add` */
  readonly place: string;
  readonly controller: Type;
  readonly method: object;
}

/** The entries of more limits are longer than the documented length of `RateLimit-Policy`. */
const MAX_LIMITS = 4;

/** The document promises lower-case letters. `minute` and `day` are the windows of the plan. */
const NAME = /^(?!(?:minute|day)$)[a-z]{1,20}$/;

const UNSUPPORTED = {
  blockDuration: THROTTLER_BLOCK_DURATION,
  getTracker: THROTTLER_TRACKER,
  generateKey: THROTTLER_KEY_GENERATOR,
} as const;

/**
 * Reads the limits of `@Throttle` on a handler and its controller. An option of the handler replaces that of the
 * controller.
 *
 * @throws UserError
 */
export function routeLimitsOf(handler: Handler): RouteLimit[] {
  const { place } = handler;
  if (namesIn(handler, THROTTLER_SKIP).length > 0) {
    throw new UserError(`${place} has @SkipThrottle, but no route can skip the limits: remove it.`);
  }
  const names = namesIn(handler, THROTTLER_LIMIT);
  if (names.length > MAX_LIMITS) {
    throw new UserError(`@Throttle adds ${names.length} limits to ${place}: use at most ${MAX_LIMITS}.`);
  }
  return names.map((name) => routeLimitOf(handler, name));
}

function routeLimitOf(handler: Handler, name: string): RouteLimit {
  const { place } = handler;
  if (!NAME.test(name)) {
    throw new UserError(
      `The name "${name}" in @Throttle of ${place} is invalid: use 1 to 20 lower-case letters, and not minute or day.`,
    );
  }
  for (const [option, key] of Object.entries(UNSUPPORTED)) {
    if (optionOf(handler, key + name) !== undefined) {
      throw new UserError(`@Throttle of ${place} has the option ${option}, which has no effect: remove it.`);
    }
  }
  const limit = optionOf(handler, THROTTLER_LIMIT + name);
  const ttl = optionOf(handler, THROTTLER_TTL + name);
  const owner = { place, name };
  return {
    ...owner,
    limit: typeof limit === 'function' ? limit : requireInteger(owner, 'limit', limit),
    ttl: typeof ttl === 'function' ? ttl : requireInteger(owner, 'ttl', ttl),
  };
}

/** Lists the names in the metadata keys of the throttler, which are a prefix and a name. */
function namesIn({ method, controller }: Handler, prefix: string): string[] {
  const keys = [controller, method].flatMap((target): unknown[] => Reflect.getMetadataKeys(target));
  const own = keys.filter((key) => typeof key === 'string').filter((key) => key.startsWith(prefix));
  return [...new Set(own)].map((key) => key.slice(prefix.length));
}

function optionOf({ method, controller }: Handler, key: string): Resolvable<number> | undefined {
  return Reflect.getMetadata(key, method) ?? Reflect.getMetadata(key, controller);
}
