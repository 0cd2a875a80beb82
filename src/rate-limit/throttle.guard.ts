import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { normalizeIp } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { clientAddress } from '../platform/routes/client-address';
import { COUNTED, type Principal } from '../platform/routes/request-context';
import { routeLimitMessage } from '../platform/errors/platform.errors';
import { Bans } from './bans';
import { limitHeaders, tooManyRequests } from './rate-limit.headers';
import {
  type Decision,
  type Look,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  tighter,
} from './rate-limit.store';
import { readRouteLimits, type RouteLimit, type RouteLimits, type RouteUsage } from './route-limit';

/**
 * Counts each request in the windows of its account, or of its address without a valid key, over all routes; then in the
 * windows that `@Throttle` adds to its route. On a public route it counts only in those.
 */
@Injectable()
export class ThrottleGuard implements CanActivate, OnModuleInit {
  private routeLimits: RouteLimits = new Map();
  private notifyAdmitted: (principal: Principal, now: number) => void = () => undefined;
  private readonly anonymousLimits: OwnerLimits;

  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly clock: Clock,
    private readonly discovery: DiscoveryService,
    @Inject(CONFIG) { rateLimitAnonymousPerMinute }: Config,
  ) {
    this.anonymousLimits = { perMinute: rateLimitAnonymousPerMinute };
  }

  /** @throws UserError for a mistake in `@Throttle` */
  onModuleInit(): void {
    this.routeLimits = readRouteLimits(this.discovery.getControllers());
  }

  /** Decides synchronously without Redis. @throws ApiError 429 */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const limits = this.routeLimits.get(context.getHandler())?.get(context.getClass());
    const counted = this.count(request, reply);
    if (!limits) return counted;
    return Promise.resolve(counted).then(() => this.enforce(limits, request, reply));
  }

  /** Calls `listener` for each request of a key that the windows of its account have counted, with the time. */
  onAdmitted(listener: (principal: Principal, now: number) => void): void {
    this.notifyAdmitted = listener;
  }

  /** Returns the headers of a response that is not counted: the window of the address. */
  headersOf(ip: string | undefined, socketAddress: string | undefined): Record<string, string> {
    const windows = this.store.peek(ownerOfAddress(ip, socketAddress), this.anonymousLimits);
    return limitHeaders({ windows, now: this.clock.now() });
  }

  /** Counts a request in the windows of the plan, and sets its headers. */
  private count(request: FastifyRequest, reply: FastifyReply): true | Promise<true> {
    const { principal } = request;
    const { public: isPublic, uncounted } = request.routeOptions.config;
    if (isPublic) return true;
    const owner = ownerOfRequest(request);
    const limits = this.limitsOf(request);
    if (principal && uncounted) {
      return Promise.resolve(this.store.look(owner, limits)).then((found) => {
        request.standing = { ...found, ...this.bans.standing(principal.keyId) };
        reply.headers(limitHeaders(found));
        return true;
      });
    }
    if (request.raw[COUNTED]) return true;
    const bannedUntil = principal && this.bans.historyOf(principal.keyId).bannedUntil;
    if (bannedUntil && bannedUntil > this.clock.now()) {
      const windows = this.store.peek(owner, limits);
      return apply({ verdict: 'banned', windows, now: this.clock.now(), bannedUntil }, request, reply);
    }
    const decision = this.store.take(owner, limits);
    return decision instanceof Promise
      ? decision.then((made) => this.settle(made, request, reply))
      : this.settle(decision, request, reply);
  }

  /** Applies a decision. A 429 may be a strike of the key. */
  private settle(decision: Decision, request: FastifyRequest, reply: FastifyReply): true {
    const { principal } = request;
    const keyId = principal?.keyId;
    if (principal && decision.verdict === 'admitted') this.notifyAdmitted(principal, decision.now);
    const isRecorded = decision.verdict !== 'admitted' || this.bans.histories.has(keyId ?? '');
    const recorded = keyId !== undefined && isRecorded ? this.bans.record(keyId, decision) : decision;
    return apply(recorded, request, reply);
  }

  /** Counts a request in the windows of its route: in a longer one only if the shorter ones admit it. */
  private async enforce(
    limits: readonly RouteLimit[],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<true> {
    if (request.keyRejection) return true;
    const client = ownerOfRequest(request);
    // Names the windows in every instance and after a restart. HEAD and GET share them.
    const route = `${request.method.replace('HEAD', 'GET')} ${request.routeOptions.url}`;
    const usages: RouteUsage[] = [];
    let isLimited = false;
    let now = this.clock.now();
    for (const limit of limits) {
      const owner = `${client}:route:${route}:${limit.name}`;
      const window = { perMinute: limit.limit, windowMs: limit.ttl };
      const made: Look & Partial<Decision> = await (isLimited
        ? this.store.look(owner, window)
        : this.store.take(owner, window));
      ({ now } = made);
      usages.push({ ...limit, ...made.windows.minute });
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

/** @throws ApiError 429 */
function apply(decision: Decision, request: FastifyRequest, reply: FastifyReply): true {
  request.rateLimit = decision;
  reply.headers(limitHeaders(decision));
  if (decision.verdict !== 'admitted') throw tooManyRequests(decision);
  return true;
}

/** Returns the account of the key, or the address of a request without a valid key. */
function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer. */
function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(clientAddress(ip, socketAddress) ?? 'unknown')}`;
}
