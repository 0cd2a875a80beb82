import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerLimitDetail, type ThrottlerRequest } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { commonErrors } from '../api/errors/common.errors';
import { ownerOfRequest } from './rate-limit.store';

/** The limit of a route without `@Throttle`. The library's own guard, which a team may use too, must not reject for it. */
export const NO_LIMIT = Number.MAX_VALUE;

/**
 * Counts a request in the window that `@Throttle({ default: … })` adds to its route, for its account, or for its address
 * on a public route. `ThrottleGuard` calls it after the windows of the plan have counted the request.
 */
@Injectable()
export class RouteLimitGuard extends ThrottlerGuard {
  /** The routes without a limit, by their options. The library decides on each request anew. */
  readonly unlimited = new WeakSet<object>();

  protected override async handleRequest(found: ThrottlerRequest): Promise<boolean> {
    if (found.limit !== NO_LIMIT) return super.handleRequest(found);
    this.unlimited.add(found.context.switchToHttp().getRequest<FastifyRequest>().routeOptions.config);
    return true;
  }

  protected override async getTracker(request: FastifyRequest): Promise<string> {
    return ownerOfRequest(request);
  }

  protected override async throwThrottlingException(
    _context: ExecutionContext,
    { timeToBlockExpire }: ThrottlerLimitDetail,
  ): Promise<void> {
    const headers = { 'Retry-After': String(timeToBlockExpire) };
    const message = 'The requests of this operation are used up. Wait for the seconds in Retry-After.';
    throw commonErrors.rate_limit_exceeded({ message, headers });
  }
}
