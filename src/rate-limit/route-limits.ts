import { Injectable, type Type } from '@nestjs/common';
import { UserError } from '../platform/errors/user-error';
import type { RouteLimit } from './route-limit';
import { type Handler, routeLimitsOf } from './throttle-metadata';

/** The routes with limits of their own. It is filled at the start. */
@Injectable()
export class RouteLimits {
  private readonly limits = new Map<Type, Map<object, readonly RouteLimit[]>>();

  /**
   * Reads the limits of all handlers.
   *
   * @throws UserError for the first mistake
   */
  read(handlers: readonly Handler[]): void {
    for (const handler of handlers) {
      const limits = routeLimitsOf(handler);
      if (limits.length > 0) this.handlersOf(handler.controller).set(handler.method, limits);
    }
  }

  /** Returns the limits of a handler; undefined for none. */
  of(controller: Type, method: object): readonly RouteLimit[] | undefined {
    return this.limits.get(controller)?.get(method);
  }

  private handlersOf(controller: Type): Map<object, readonly RouteLimit[]> {
    const known = this.limits.get(controller);
    if (known) return known;
    this.requireOwnName(controller);
    const handlers = new Map<object, readonly RouteLimit[]>();
    this.limits.set(controller, handlers);
    return handlers;
  }

  /** The name is the name of the windows, in every instance and after a restart. */
  private requireOwnName({ name }: Type): void {
    if ([...this.limits.keys()].some((other) => other.name === name)) {
      throw new UserError(`Two controllers with @Throttle have the name ${name}: rename one of them.`);
    }
  }
}
