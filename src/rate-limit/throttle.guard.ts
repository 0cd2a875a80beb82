import { isIP } from 'node:net';
import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { normalizeIp } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { UserError } from '../platform/errors/user-error';
import { COUNTED } from '../platform/routes/request-context';
import { tooManyRequests, tooManyRequestsOfRoute } from './rate-limit.errors';
import { decisionHeaders, routeHeaders, tightestOf, windowsHeaders } from './rate-limit.headers';
import {
  type Charge,
  type Decision,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
} from './rate-limit.store';
import { type RouteLimit, routeLimitsOf, type RouteUsage } from './route-limit';

/** An address with a port, as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * Counts each request in the windows of its account, or of its address without a valid key, over all routes; then in the
 * windows that `@Throttle` adds to its route. On a public route it counts only in those.
 */
@Injectable()
export class ThrottleGuard implements CanActivate, OnModuleInit {
  /** The limits of `@Throttle` by controller and handler. */
  private readonly routeLimits = new Map<object, Map<object, readonly RouteLimit[]>>();
  private readonly anonymousLimits: OwnerLimits;

  constructor(
    private readonly store: RateLimitStore,
    private readonly clock: Clock,
    private readonly discovery: DiscoveryService,
    @Inject(CONFIG) { rateLimitAnonymousPerMinute }: Config,
  ) {
    this.anonymousLimits = { perMinute: rateLimitAnonymousPerMinute };
  }

  /**
   * Reads every `@Throttle`, and adds it to the operation in the document.
   *
   * @throws UserError for the first mistake
   */
  onModuleInit(): void {
    const places = new Set<string>();
    for (const { metatype: controller } of this.discovery.getControllers()) {
      if (!controller) continue;
      const prototype: object = controller.prototype;
      const limits = new Map<object, readonly RouteLimit[]>();
      for (const name of new MetadataScanner().getAllMethodNames(prototype)) {
        const handler: unknown = Reflect.get(prototype, name);
        if (typeof handler !== 'function') continue;
        const place = `${controller.name}.${name}`;
        const found = routeLimitsOf(place, handler, controller);
        if (found.length === 0) continue;
        if (places.has(place)) {
          throw new UserError(`Two handlers with @Throttle have the name ${place}: rename one of them.`);
        }
        places.add(place);
        limits.set(handler, found);
        const windows = found.map(({ limit, ttl }) => ({ limit, ttl }));
        ApiExtension('x-throttle', windows)(prototype, name, { value: handler });
      }
      if (limits.size > 0) this.routeLimits.set(controller, limits);
    }
  }

  /**
   * Decides synchronously without Redis.
   *
   * @throws ApiError 429
   */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const limits = this.routeLimits.get(context.getClass())?.get(context.getHandler());
    const counted = this.count(request, reply);
    if (!limits) return counted;
    return Promise.resolve(counted).then(() => this.enforce(limits, request, reply));
  }

  /** Returns the headers of a response that is not counted: the window of the address. */
  headersOf(ip: string | undefined, socketAddress: string | undefined): Record<string, string> {
    const windows = this.store.peek(ownerOfAddress(ip, socketAddress), this.anonymousLimits);
    return windowsHeaders(windows, this.clock.now());
  }

  /** Counts a request in the windows of the plan, and sets its headers. */
  private count(request: FastifyRequest, reply: FastifyReply): true | Promise<true> {
    const { public: isPublic, uncounted } = request.routeOptions.config;
    if (isPublic) return true;
    const charge = this.chargeOf(request);
    if (charge.key && uncounted) {
      const standing = this.store.read(charge);
      return standing instanceof Promise
        ? standing.then((read) => show(read, request, reply))
        : show(standing, request, reply);
    }
    if (request.raw[COUNTED]) return true;
    const decision = this.store.take(charge);
    return decision instanceof Promise
      ? decision.then((made) => apply(made, request, reply))
      : apply(decision, request, reply);
  }

  /** Counts a request in the windows of its route: in a longer one only if the shorter ones admit it. */
  private async enforce(
    limits: readonly RouteLimit[],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<true> {
    if (request.keyRejection) return true;
    const client = ownerOfRequest(request);
    const usages: RouteUsage[] = [];
    let exhausted: RouteUsage | undefined;
    let now = this.clock.now();
    for (const limit of limits) {
      const charge = {
        owner: ownerOfRoute(client, limit.place, limit.name),
        limits: { perMinute: limit.limit, windowMs: limit.ttl },
      };
      if (exhausted) {
        usages.push({ ...limit, ...this.store.peek(charge.owner, charge.limits).minute });
        continue;
      }
      const decision = await this.store.take(charge);
      now = decision.now;
      const usage = { ...limit, ...decision.windows.minute };
      usages.push(usage);
      if (decision.verdict !== 'admitted') exhausted = usage;
    }
    const shown = exhausted && tightestOf(usages);
    const plan = request.rateLimit ?? { windows: this.store.peek(client, this.limitsOf(request)), now };
    request.rateLimit = { ...plan, verdict: shown ? 'limited' : 'admitted' };
    reply.headers(routeHeaders(plan, usages, now, shown));
    if (!shown) return true;
    throw tooManyRequestsOfRoute({ verdict: 'limited', windows: { minute: shown, day: undefined }, now });
  }

  /** Every request needs it, so it copies no object. */
  private chargeOf(request: FastifyRequest): Charge {
    const { principal } = request;
    const owner = ownerOfRequest(request);
    if (!principal) return { owner, limits: this.anonymousLimits };
    const { limits, keyId, unbannedAt } = principal;
    return { owner, limits, key: { id: keyId, unbannedAt } };
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
  reply.headers(decisionHeaders(decision));
  if (decision.verdict !== 'admitted') throw tooManyRequests(decision);
  return true;
}

/** Sets the headers of a request that is not counted: the windows of the account as they stand. */
function show(standing: Standing, request: FastifyRequest, reply: FastifyReply): true {
  request.standing = standing;
  reply.headers(windowsHeaders(standing.windows, standing.now));
  return true;
}

/** Returns the account of the key, or the address of a request without a valid key. */
function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of a window of a route: `account:7:route:KennelsController.add:short`. */
function ownerOfRoute(client: string, place: string, name: string): string {
  return `${client}:route:${place}:${name}`;
}

/**
 * Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer.
 *
 * @param ip from X-Forwarded-For or the socket; if it is not an address, the socket's address counts
 */
function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(addressIn(ip) ?? addressIn(socketAddress) ?? 'unknown')}`;
}

function addressIn(text = ''): string | undefined {
  if (isIP(text) > 0) return text;
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  return isIP(address) > 0 ? address : undefined;
}
