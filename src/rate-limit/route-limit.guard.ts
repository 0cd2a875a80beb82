import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import type { ApiError } from '../platform/errors/api-error';
import { limitsOfRequest } from './limits';
import { ownerOfRequest, ownerOfRoute } from './owners';
import { tooManyRequestsOfRoute } from './rate-limit.errors';
import { routeHeaders, tightestOf } from './rate-limit.headers';
import { type Charge, type Decision, RateLimitStore } from './rate-limit.store';
import { RejectionLog } from './rejection-log';
import { resolveLimit, type ResolvedLimit, type RouteLimit, type RouteUsage } from './route-limit';
import { RouteLimits } from './route-limits';

/** The windows of a route after a request. */
interface Outcome {
  readonly usages: readonly RouteUsage[];
  readonly isAdmitted: boolean;
  /** The store's time. */
  readonly now: number;
}

/**
 * Enforces the limits of `@Throttle`: windows of the route for each account, in addition to those of the plan. On a
 * public route it counts by address.
 */
@Injectable()
export class RouteLimitGuard implements CanActivate {
  constructor(
    private readonly limits: RouteLimits,
    private readonly store: RateLimitStore,
    private readonly rejections: RejectionLog,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Decides synchronously for a route without a limit of its own. */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const limits = this.limits.of(context.getClass(), context.getHandler());
    return limits === undefined || this.enforce(limits, context);
  }

  private async enforce(limits: readonly RouteLimit[], context: ExecutionContext): Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const client = ownerOfRequest(request);
    const resolved = await Promise.all(limits.map((limit) => resolveLimit(limit, context)));
    const { usages, now, isAdmitted } = await this.charge(client, resolved);
    const plan = request.rateLimit ?? {
      windows: this.store.peek(client, limitsOfRequest(request, this.config)),
      now,
    };
    const exhausted = isAdmitted ? undefined : tightestOf(usages);
    request.rateLimit = { ...plan, verdict: isAdmitted ? 'admitted' : 'limited' };
    reply.headers(routeHeaders(plan, usages, now, exhausted));
    if (!exhausted) return true;
    throw this.reject(request, client, {
      verdict: 'limited',
      windows: { minute: exhausted, day: undefined },
      now,
    });
  }

  /** Charges the shortest window first, and a longer one only if the shorter ones admit the request. */
  private async charge(client: string, limits: readonly ResolvedLimit[]): Promise<Outcome> {
    const usages: RouteUsage[] = [];
    let isAdmitted = true;
    let now = 0;
    for (const limit of limits.toSorted((one, other) => one.ttl - other.ttl)) {
      const charge = chargeOf(client, limit);
      if (!isAdmitted) {
        usages.push({ ...limit, ...this.store.peek(charge.owner, charge.limits).minute });
        continue;
      }
      const decision = await this.store.take(charge);
      usages.push({ ...limit, ...decision.windows.minute });
      isAdmitted = decision.verdict === 'admitted';
      now = decision.now;
    }
    return { usages, isAdmitted, now };
  }

  /** Returns the 429. Each route of a key has a sum of its own in the log. */
  private reject(request: FastifyRequest, client: string, decision: Decision): ApiError {
    const route = request.routeOptions.url;
    const name = `${request.principal?.keyId ?? client} ${route}`;
    request.isLoggedInSum = this.rejections.count(name, request, decision, { route });
    return tooManyRequestsOfRoute(decision);
  }
}

function chargeOf(client: string, { place, name, limit, ttl }: ResolvedLimit): Charge {
  return { owner: ownerOfRoute(client, place, name), limits: { perMinute: limit, windowMs: ttl } };
}
