import { type DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { THROTTLER_LIMIT, THROTTLER_TTL } from '@nestjs/throttler/dist/throttler.constants';
import { UserError } from '../platform/errors/user-error';
import { DAY_MS } from '../platform/runtime/time';
import type { Usage } from './rate-limit.store';

/** A limit that `@Throttle` adds to a route. */
export interface RouteLimit {
  /** `short` in `@Throttle({ short: { limit: 5, ttl: 60_000 } })`. */
  readonly name: string;
  readonly limit: number;
  /** The length of the window in milliseconds. */
  readonly ttl: number;
}

/** The window of a limit as the headers show it. */
export type RouteUsage = Usage & RouteLimit;

/** By handler and controller, which may have inherited it; the shortest window first. */
export type RouteLimits = Map<unknown, Map<object, readonly RouteLimit[]>>;

/** A larger number is inexact in the Redis script, or too long for the documented headers. */
const MAX = { limit: 1_000_000_000, ttl: 366 * DAY_MS } as const;
/** The document promises lower-case letters. `minute` and `day` are the windows of the plan. */
const NAME = /^(?!(?:minute|day)$)[a-z]{1,20}$/;

/** Reads every `@Throttle`, and adds it to the document. @throws UserError for the first mistake */
export function readRouteLimits(controllers: ReturnType<DiscoveryService['getControllers']>): RouteLimits {
  const all: RouteLimits = new Map();
  for (const { metatype: controller } of controllers) {
    if (typeof controller !== 'function') continue;
    const prototype: object = controller.prototype;
    for (const method of new MetadataScanner().getAllMethodNames(prototype)) {
      const handler = Reflect.get(prototype, method);
      const limits = routeLimitsOf(`${controller.name}.${method}`, [handler, controller]);
      if (limits.length === 0) continue;
      all.set(handler, (all.get(handler) ?? new Map()).set(controller, limits));
      const windows = limits.map(({ limit, ttl }) => ({ limit, ttl }));
      ApiExtension('x-throttle', windows)(prototype, method, { value: handler });
    }
  }
  return all;
}

/** An option of the handler replaces that of its controller. */
function routeLimitsOf(place: string, targets: Parameters<Reflector['getAllAndOverride']>[1]): RouteLimit[] {
  const keys = targets.flatMap((target): unknown[] => Reflect.getMetadataKeys(target)).map(String);
  const names = new Set(keys.flatMap((key) => key.split(THROTTLER_LIMIT).slice(1)));
  const numberOf = (option: keyof typeof MAX, name: string, key: string): number => {
    const value: unknown = new Reflector().getAllAndOverride(key + name, targets);
    const max = MAX[option];
    const isInRange = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max;
    if (isInRange && NAME.test(name)) return value;
    throw new UserError(
      `@Throttle of ${place} has "${name}" with the ${option} ${String(value)}: use an integer from 1 to ${max}, and a name of 1 to 20 lower-case letters other than minute and day.`,
    );
  };
  const limits = [...names].map((name) => ({
    name,
    limit: numberOf('limit', name, THROTTLER_LIMIT),
    ttl: numberOf('ttl', name, THROTTLER_TTL),
  }));
  return limits.sort((one, other) => one.ttl - other.ttl);
}
