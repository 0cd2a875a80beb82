import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import {
  normalizeIp,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type Config } from '../config/config';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { clientAddress } from '../api/routes/client-address';
import type { Principal } from '../api/routes/request-context';
import { SECOND_MS } from '../time/time';
import { Bans } from './bans';
import {
  COUNTED,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Window,
  type Windows,
} from './rate-limit.store';

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

/**
 * Counts each request in the windows of its account, or of its address without a valid key, over all routes; then in the
 * window of its route, if that has one.
 */
@Injectable()
export class ThrottleGuard implements CanActivate {
  private notifyAdmitted: (principal: Principal, now: number) => void = () => undefined;
  private readonly anonymousLimits: OwnerLimits;

  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly routes: RouteLimitGuard,
    @Inject(CONFIG) { rateLimitAnonymousPerMinute }: Config,
  ) {
    this.anonymousLimits = { perMinute: rateLimitAnonymousPerMinute };
  }

  /** Decides synchronously without Redis, on a route without a limit. @throws ApiError 429 */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const [request, reply] = context.getArgs<[FastifyRequest, FastifyReply]>();
    const { config } = request.routeOptions;
    // A public route has only limits of its own.
    const counted = config.public || this.countInPlan(request, reply, config.uncounted);
    if (request.keyRejection || this.routes.unlimited.has(config)) return counted;
    return Promise.resolve(counted).then(() => this.routes.canActivate(context));
  }

  private countInPlan(request: FastifyRequest, reply: FastifyReply, uncounted = false): true | Promise<true> {
    const { principal } = request;
    const owner = ownerOfRequest(request);
    const limits = principal?.limits ?? this.anonymousLimits;
    if (principal && uncounted) {
      return Promise.resolve(this.store.look(owner, limits)).then((found) => {
        request.standing = { ...this.bans.standing(principal.keyId), ...found };
        reply.headers(limitHeaders(found));
        return true;
      });
    }
    if (request.raw[COUNTED]) return true;
    const ban = principal && this.bans.ends.has(principal.keyId) && this.bans.banOf(principal.keyId);
    const decision: Decision | Promise<Decision> = ban
      ? { verdict: 'banned', windows: this.store.peek(owner, limits), ...ban }
      : this.store.take(owner, limits);
    return decision instanceof Promise
      ? decision.then((made) => this.apply(made, request, reply))
      : this.apply(decision, request, reply);
  }

  /** Calls `listener` for each request of a key that the windows of its account have counted, with the time. */
  onAdmitted(listener: (principal: Principal, now: number) => void): void {
    this.notifyAdmitted = listener;
  }

  /** Returns the headers of a response that is not counted: the window of the address. */
  headersOf(ip: string | undefined, socketAddress: string | undefined): Record<string, string> {
    const windows = this.store.peek(ownerOfAddress(ip, socketAddress), this.anonymousLimits);
    return limitHeaders({ windows, now: this.store.now() });
  }

  /** Applies a decision on a request: a 429 is a strike of its key. @throws ApiError 429 */
  private apply(made: Decision, request: FastifyRequest, reply: FastifyReply): true {
    const { principal } = request;
    const decision = principal && made.verdict === 'limited' ? this.bans.record(principal.keyId, made) : made;
    if (principal && decision.verdict === 'admitted') this.notifyAdmitted(principal, decision.now);
    request.rateLimit = decision;
    reply.headers(limitHeaders(decision));
    if (decision.verdict !== 'admitted') throw tooManyRequests(decision);
    return true;
  }
}

/** Returns the account of the key, or the address of a request without a valid key. */
function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer. */
function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(clientAddress(ip) ?? clientAddress(socketAddress) ?? 'unknown')}`;
}

/**
 * Returns the headers of a response: the tightest window, and both as draft-ietf-httpapi-ratelimit-headers-10 defines
 * them (experimental).
 */
function limitHeaders({ windows, now, bannedUntil }: Omit<Decision, 'verdict'>): Record<string, string> {
  // No requests remain until the ban ends.
  const shown = (counted: Window): Window =>
    bannedUntil === undefined ? counted : { limit: counted.limit, remaining: 0, resetAt: bannedUntil };
  // The window may have the time of this process, and the store's time may be later.
  const left = (name: string, { remaining, resetAt }: Window): string =>
    `"${name}";r=${remaining};t=${Math.max(0, seconds(resetAt - now))}`;
  const minute = shown(windows.minute);
  const day = windows.day && shown(windows.day);
  const { limit, remaining, resetAt } = tightest({ minute, day });
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(resetAt)),
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60${day ? `, "day";q=${day.limit};w=86400` : ''}`,
    RateLimit: left('minute', minute) + (day ? `, ${left('day', day)}` : ''),
  };
}

/**
 * Returns the 429 of a decision that is not an admission.
 *
 * `Retry-After` is at least 1. It is a difference of rounded times: a client that adds it to its clock's second gets
 * `X-RateLimit-Reset` or later.
 */
export function tooManyRequests({ now, windows, bannedUntil }: Decision): ApiError {
  const window = tightest(windows);
  const limited = window === windows.day ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  const code = bannedUntil === undefined ? limited : 'api_key_banned';
  const wait = Math.max(1, seconds(bannedUntil ?? window.resetAt) - Math.floor(now / SECOND_MS));
  return commonErrors[code]({ headers: { 'Retry-After': String(wait) } });
}

/** Returns the window with the fewest requests remaining; if both have as many, it is the one that resets later. */
function tightest({ minute, day }: Windows): Window {
  if (!day) return minute;
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? minute : day;
  return day.resetAt >= minute.resetAt ? day : minute;
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / SECOND_MS);
}
