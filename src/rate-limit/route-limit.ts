import { type DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { SkipThrottle, Throttle, type ThrottlerOptions } from '@nestjs/throttler';
import { UserError } from '../platform/errors/user-error';
import { DAY_MS } from '../platform/runtime/time';

/** A window that `@Throttle` adds to a route, for one request. */
export interface RouteLimit {
  /** `short` in `@Throttle({ short: { limit: 5, ttl: 60_000 } })`. */
  readonly name: string;
  /** Names the window in every instance and after a restart. */
  readonly owner: string;
  readonly limit: number;
  /** The length of the window in milliseconds. */
  readonly ttl: number;
}

/** A larger number is inexact in the Redis script, or too long for the documented headers. */
const MAX = { limit: 1_000_000_000, ttl: 366 * DAY_MS, blockDuration: 366 * DAY_MS } as const;
/** Fewer milliseconds are seconds, as in earlier versions of the library. */
const MIN = { limit: 1, ttl: 1_000, blockDuration: 1_000 } as const;
/** The document promises lower-case letters. `minute` and `day` are the windows of the plan. */
const NAME = /^(?!(?:minute|day)$)[a-z]{1,20}$/;

/** Makes values of a team ones that the stores can count with: Redis takes whole milliseconds only. */
export function countable(limit: number, ttl: number): Pick<RouteLimit, 'limit' | 'ttl'> {
  return {
    limit: Math.min(Math.floor(limit), MAX.limit),
    ttl: Math.min(Math.max(1, Math.floor(ttl)), MAX.ttl),
  };
}

const reflector = new Reflector();
const OPTIONS = {
  limit: () => 0,
  ttl: () => 0,
  blockDuration: () => 0,
  getTracker: () => '',
  generateKey: () => '',
};

@SkipThrottle({ '': true })
@Throttle({ '': OPTIONS })
class Unnamed {}

/** The metadata key of each option, which the name of the window follows. The library does not export it. */
const KEYS = new Map<unknown, string>(
  Reflect.getMetadataKeys(Unnamed).map((key: string) => [reflector.get<unknown>(key, Unnamed), key]),
);

/**
 * Reads every `@Throttle`, and adds it to the document.
 *
 * @returns the library's options for each name, which limit only the routes that use it
 * @throws UserError for the first mistake
 */
export function readThrottlers(
  controllers: ReturnType<DiscoveryService['getControllers']>,
): ThrottlerOptions[] {
  // The library warns about an empty list.
  const handlersOf = new Map([['default', new Set<unknown>()]]);
  for (const { metatype: controller } of controllers) {
    if (typeof controller !== 'function') continue;
    const prototype: object = controller.prototype;
    for (const method of new MetadataScanner().getAllMethodNames(prototype)) {
      const handler = Reflect.get(prototype, method);
      const windows = windowsOf(`${controller.name}.${method}`, [handler, controller]);
      for (const { name } of windows) handlersOf.set(name, (handlersOf.get(name) ?? new Set()).add(handler));
      const fixed = windows.filter(({ isFixed }) => isFixed).map(({ limit, ttl }) => ({ limit, ttl }));
      fixed.sort((one, other) => one.ttl - other.ttl);
      if (fixed.length > 0) ApiExtension('x-throttle', fixed)(prototype, method, { value: handler });
    }
  }
  return [...handlersOf].map(([name, handlers]) => {
    // Another controller may inherit the handler without a limit.
    return { name, limit: Infinity, ttl: 0, skipIf: (context) => !handlers.has(context.getHandler()) };
  });
}

/** Returns the windows of a route. An option of the handler replaces its controller's. @throws UserError */
function windowsOf(place: string, targets: Parameters<Reflector['getAllAndOverride']>[1]) {
  const keys = targets.flatMap((target): unknown[] => Reflect.getMetadataKeys(target)).map(String);
  const names = new Set(keys.flatMap((key) => key.split(KEYS.get(OPTIONS.limit) ?? '').slice(1)));
  return [...names].map((name) => {
    const read = (option: unknown): unknown =>
      reflector.getAllAndOverride(`${KEYS.get(option)}${name}`, targets);
    /** Returns NaN for a function. */
    const numberOf = (option: keyof typeof MAX): number => {
      const [value, min, max] = [read(OPTIONS[option]), MIN[option], MAX[option]];
      const isInRange = Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
      if ((isInRange || typeof value === 'function') && NAME.test(name)) return Number(value);
      throw new UserError(
        `@Throttle of ${place} has "${name}" with the ${option} ${String(value)}: use ${option === 'limit' ? 'an integer' : 'milliseconds'} from ${min} to ${max}, and a name of 1 to 20 lower-case letters other than minute and day.`,
      );
    };
    const [limit, ttl] = [numberOf('limit'), numberOf('ttl')];
    if (read(OPTIONS.blockDuration) !== undefined) numberOf('blockDuration');
    const isOfAccount = ![true, OPTIONS.getTracker, OPTIONS.generateKey].some(read);
    return { name, limit, ttl, isFixed: isOfAccount && limit > 0 && ttl > 0 };
  });
}
