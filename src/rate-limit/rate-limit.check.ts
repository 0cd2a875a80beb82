import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock } from '../platform/runtime/clock';
import type { Config } from '../platform/config/config';
import { CONFIG } from '../platform/config/config.token';
import { isProtected } from '../platform/http/protection';
import type { ApiError } from '../platform/errors/api-error';
import { anonymousLimits, limitsOfRequest } from './limits';
import { ownerOfAddress, ownerOfRequest } from './owners';
import { tooManyRequests } from './rate-limit.errors';
import { decisionHeaders, windowsHeaders } from './rate-limit.headers';
import { RejectionLog } from './rejection-log';
import { type Charge, type Decision, RateLimitStore, type Standing } from './rate-limit.store';

/** The request check that enforces the limits. It charges both windows of an owner over all routes. */
@Injectable()
export class RateLimitCheck {
  constructor(
    private readonly store: RateLimitStore,
    private readonly rejections: RejectionLog,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Charges a request, unless its route counts none, and adds its rate-limit headers.
   *
   * @returns a 429 if the account, or the address of a request without a valid key, has no request left
   */
  check(request: FastifyRequest, reply: FastifyReply): ApiError | undefined | Promise<ApiError | undefined> {
    if (!isProtected(request)) return undefined;
    const charge = this.chargeOf(request);
    if (charge.key && request.routeOptions.config.uncounted) return this.show(charge, request, reply);
    return this.take(charge, request, reply);
  }

  /**
   * Charges one more request, for the handler of an `@Uncounted()` route which does more work than one request.
   *
   * @returns a 429 if the account has no request left
   */
  charge(request: FastifyRequest, reply: FastifyReply): ApiError | undefined | Promise<ApiError | undefined> {
    return this.take(this.chargeOf(request), request, reply);
  }

  private take(
    charge: Charge,
    request: FastifyRequest,
    reply: FastifyReply,
  ): ApiError | undefined | Promise<ApiError | undefined> {
    const decision = this.store.take(charge);
    return decision instanceof Promise
      ? decision.then((made) => this.apply(made, charge, request, reply))
      : this.apply(decision, charge, request, reply);
  }

  /** Returns the headers of a response that is not charged: the window of the address. */
  headersOf(ip: string | undefined, socketAddress: string | undefined): Record<string, string> {
    const windows = this.store.peek(ownerOfAddress(ip, socketAddress), anonymousLimits(this.config));
    return windowsHeaders(windows, this.clock.now());
  }

  /** Adds the headers of a request that is not charged: the windows of the account as they stand. */
  private show(charge: Charge, request: FastifyRequest, reply: FastifyReply): undefined | Promise<undefined> {
    const apply = (standing: Standing): undefined => {
      request.standing = standing;
      reply.headers(windowsHeaders(standing.windows, standing.now));
    };
    const read = this.store.read(charge);
    return read instanceof Promise ? read.then(apply) : apply(read);
  }

  private chargeOf(request: FastifyRequest): Charge {
    const { principal } = request;
    const owner = ownerOfRequest(request);
    const limits = limitsOfRequest(request, this.config);
    if (!principal) return { owner, limits };
    return { owner, limits, key: { id: principal.keyId, unbannedAt: principal.unbannedAt } };
  }

  private apply(
    decision: Decision,
    { key, owner }: Charge,
    request: FastifyRequest,
    reply: FastifyReply,
  ): ApiError | undefined {
    request.rateLimit = decision;
    reply.headers(decisionHeaders(decision));
    if (decision.verdict === 'admitted') return undefined;
    request.isLoggedInSum = this.rejections.count(key?.id ?? owner, request, decision);
    return tooManyRequests(decision);
  }
}
