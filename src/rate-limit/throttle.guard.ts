import { hash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  normalizeIp,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type Config } from '../platform/config/config';
import { clientAddress } from '../platform/routes/client-address';
import { COUNTED, type Principal } from '../platform/routes/request-context';
import { routeLimitMessage } from '../platform/errors/platform.errors';
import { Limits } from './limits';
import { limitHeaders, tooManyRequests } from './rate-limit.headers';
import {
  type Decision,
  type Look,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  tighter,
  type Usage,
} from './rate-limit.store';
import { countable, type RouteLimit } from './route-limit';

/**
 * Counts each request in the windows of its account, or of its address without a valid key, over all routes; then in the
 * windows that `@Throttle` adds to its route. On a public route it counts only in those.
 */
@Injectable()
export class ThrottleGuard extends ThrottlerGuard {
  private readonly routeLimits = new WeakMap<ExecutionContext, RouteLimit[]>();
  private notifyAdmitted: (principal: Principal, now: number) => void = () => undefined;
  private readonly anonymousLimits: OwnerLimits;

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    private readonly store: RateLimitStore,
    reflector: Reflector,
    private readonly limits: Limits,
    @Inject(CONFIG) { rateLimitAnonymousPerMinute }: Config,
  ) {
    super(options, store, reflector);
    this.anonymousLimits = { perMinute: rateLimitAnonymousPerMinute };
  }

  /** Decides synchronously without Redis and `@Throttle`; the library's type has only promises. @throws ApiError 429 */
  override canActivate(context: ExecutionContext): Promise<true>;
  override canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const counted = this.count(request, reply);
    const isThrottled = this.throttlers.some(({ skipIf }) => skipIf?.(context) === false);
    if (!isThrottled || request.keyRejection) return counted;
    return Promise.resolve(counted).then(() => this.countInRoute(context, reply));
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

  /** Counts a request in the windows of the plan, and sets its headers. */
  private count(request: FastifyRequest, reply: FastifyReply): true | Promise<true> {
    const { principal } = request;
    const { public: isPublic, uncounted } = request.routeOptions.config;
    if (isPublic) return true;
    const owner = ownerOfRequest(request);
    const limits = this.limitsOf(request);
    if (principal && uncounted) {
      return Promise.resolve(this.limits.look(owner, limits, principal.keyId)).then((found) => {
        request.standing = found;
        reply.headers(limitHeaders({ windows: found.windows, now: found.now }));
        return true;
      });
    }
    if (request.raw[COUNTED]) return true;
    const decision = this.limits.take(owner, limits, principal?.keyId);
    return decision instanceof Promise
      ? decision.then((made) => this.apply(made, request, reply))
      : this.apply(decision, request, reply);
  }

  /** Applies a decision on a request. @throws ApiError 429 */
  private apply(decision: Decision, request: FastifyRequest, reply: FastifyReply): true {
    const { principal } = request;
    if (principal && decision.verdict === 'admitted') this.notifyAdmitted(principal, decision.now);
    request.rateLimit = decision;
    reply.headers(limitHeaders(decision));
    if (decision.verdict !== 'admitted') throw tooManyRequests(decision);
    return true;
  }

  /** Notes a limit that the library has found for a request, except `Infinity`. */
  protected override async handleRequest(found: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, getTracker, generateKey } = found;
    const { name = '' } = found.throttler;
    const key = generateKey(context, await getTracker(context.switchToHttp().getRequest(), context), name);
    const { commonOptions: own } = this;
    const isOwn = getTracker === own.getTracker && generateKey === own.generateKey;
    if (limit === Infinity) return true;
    this.routeLimits.get(context)?.push({
      name,
      // The text of a team may have any length and characters, and equal another owner.
      owner: `${isOwn ? key : hash('sha256', key)}:${name}`,
      ...countable(limit, ttl),
    });
    return true;
  }

  protected override async getTracker(request: FastifyRequest): Promise<string> {
    return ownerOfRequest(request);
  }

  /** HEAD and GET share a window. */
  protected override generateKey(context: ExecutionContext, tracker: string): string {
    const { method, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
    return `${tracker}:route:${method.replace('HEAD', 'GET')} ${routeOptions.url}`;
  }

  /** Counts a request in the windows of its route: in a longer one only if the shorter ones admit it. */
  private async countInRoute(context: ExecutionContext, reply: FastifyReply): Promise<true> {
    const { request } = reply;
    const limits: RouteLimit[] = [];
    this.routeLimits.set(context, limits);
    await super.canActivate(context);
    if (limits.length === 0) return true;
    limits.sort((one, other) => one.ttl - other.ttl);
    const client = ownerOfRequest(request);
    const usages: (Usage & RouteLimit)[] = [];
    let isLimited = false;
    let now = this.store.now();
    for (const limit of limits) {
      const window = { perMinute: limit.limit, windowMs: limit.ttl };
      const made: Look & Partial<Decision> = await (isLimited
        ? this.store.look(limit.owner, window)
        : this.store.take(limit.owner, window));
      ({ now } = made);
      // The headers promise a limit of at least 1.
      usages.push({ ...limit, ...made.windows.minute, limit: Math.max(1, limit.limit) });
      isLimited ||= made.verdict === 'limited';
    }
    const plan = request.rateLimit ?? { windows: this.store.peek(client, this.limitsOf(request)), now };
    request.rateLimit = { ...plan, verdict: isLimited ? 'limited' : 'admitted' };
    reply.headers(limitHeaders(request.rateLimit, usages));
    if (!isLimited) return true;
    const windows = { minute: usages.reduce(tighter), day: undefined };
    throw tooManyRequests({ verdict: 'limited', windows, now }, routeLimitMessage);
  }

  private limitsOf({ principal }: FastifyRequest): OwnerLimits {
    return principal ? principal.limits : this.anonymousLimits;
  }
}

/**
 * Injects the windows of the account and the strikes of the key into a controller method.
 *
 * @throws Error on a route without `@Uncounted()`
 */
export const CurrentStanding = createParamDecorator((_data: unknown, context: ExecutionContext): Standing => {
  const { standing } = context.switchToHttp().getRequest<FastifyRequest>();
  if (!standing) throw new Error('@CurrentStanding() on a route that counts its requests');
  return standing;
});

/** Returns the account of the key, or the address of a request without a valid key. */
function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer. */
function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(clientAddress(ip, socketAddress) ?? 'unknown')}`;
}
