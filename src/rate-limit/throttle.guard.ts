import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
} from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type Config } from '../platform/config/config';
import { clientAddress } from '../platform/routes/client-address';
import { COUNTED, type Principal } from '../platform/routes/request-context';
import { Bans } from './bans';
import { limitHeaders, tooManyRequests } from './rate-limit.headers';
import { type Decision, type OwnerLimits, RateLimitStore, type Standing } from './rate-limit.store';

/** Counts each request in the windows of its account, or of its address without a valid key, over all routes. */
@Injectable()
export class ThrottleGuard implements CanActivate {
  private notifyAdmitted: (principal: Principal, now: number) => void = () => undefined;
  private readonly anonymousLimits: OwnerLimits;

  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    @Inject(CONFIG) { rateLimitAnonymousPerMinute }: Config,
  ) {
    this.anonymousLimits = { perMinute: rateLimitAnonymousPerMinute };
  }

  /** Decides synchronously without Redis. A public route is not counted. @throws ApiError 429 */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const { principal } = request;
    const { public: isPublic, uncounted } = request.routeOptions.config;
    if (isPublic) return true;
    const owner = ownerOfRequest(request);
    const limits = principal?.limits ?? this.anonymousLimits;
    if (principal && uncounted) {
      return Promise.resolve(this.store.look(owner, limits)).then((found) => {
        request.standing = { ...found, ...this.bans.standing(principal.keyId) };
        reply.headers(limitHeaders(found));
        return true;
      });
    }
    if (request.raw[COUNTED]) return true;
    const ban = principal && this.bans.banOf(principal.keyId);
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
    const decision = principal ? this.bans.record(principal.keyId, made) : made;
    if (principal && decision.verdict === 'admitted') this.notifyAdmitted(principal, decision.now);
    request.rateLimit = decision;
    reply.headers(limitHeaders(decision));
    if (decision.verdict !== 'admitted') throw tooManyRequests(decision);
    return true;
  }
}

/**
 * Injects the windows of the account and the strikes of the key into a controller method.
 *
 * @throws Error on a route that is not `uncounted`
 */
export const CurrentStanding = createParamDecorator((_data: unknown, context: ExecutionContext): Standing => {
  const { standing } = context.switchToHttp().getRequest<FastifyRequest>();
  if (!standing) throw new Error('@CurrentStanding() on a route that counts its requests');
  return standing;
});

/** Returns the account of the key, or the address of a request without a valid key. */
export function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer. */
function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(clientAddress(ip, socketAddress) ?? 'unknown')}`;
}
