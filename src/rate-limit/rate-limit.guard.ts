import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerStorage,
} from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { isProtected } from '../edge/route-checks';
import type { ApiError } from '../errors/api-error';
import { anonymousLimits, limitsOfRequest } from './limits';
import { ownerOfAccount, ownerOfAddress } from './owners';
import { tooManyRequests } from './rate-limit.errors';
import { decisionHeaders, windowsHeaders } from './rate-limit.headers';
import { RejectionLog } from './rejection-log';
import { type Charge, type Decision, RateLimitStore } from './rate-limit.store';

declare module 'fastify' {
  interface FastifyRequest {
    /** What became of the request's charge; undefined where it is charged to nobody. */
    rateLimit?: Decision;
  }
}

/**
 * The limit: a check of the door, and the same as a guard of Nest. Unlike the guard that it extends it charges both
 * windows of an owner by one call of the store, over every route together, and says so on every response.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() storage: ThrottlerStorage,
    reflector: Reflector,
    private readonly store: RateLimitStore,
    private readonly rejections: RejectionLog,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super(options, storage, reflector);
  }

  /** 429 where the account, or the address of a request without a valid key, has no request left. */
  check(request: FastifyRequest, reply: FastifyReply): ApiError | undefined | Promise<ApiError | undefined> {
    if (!isProtected(request)) return undefined;
    const charge = this.chargeOf(request);
    const decision = this.store.take(charge);
    return decision instanceof Promise
      ? decision.then((made) => this.announce(made, charge, request, reply))
      : this.announce(decision, charge, request, reply);
  }

  /** Headers for a response that is charged to nobody: the address's window as it stands. */
  headersOf(ip: string | undefined, socketAddress: string | undefined): Record<string, string> {
    const windows = this.store.peek(ownerOfAddress(ip, socketAddress), anonymousLimits(this.config));
    return windowsHeaders(windows, this.clock.now());
  }

  /** Nest's face of the check; the door has normally run it, and then there is nothing left to do. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.admitted || request.rateLimit) return true;
    const refusal = await this.check(request, http.getResponse<FastifyReply>());
    if (refusal) throw refusal;
    return true;
  }

  private chargeOf(request: FastifyRequest): Charge {
    const { principal } = request;
    const limits = limitsOfRequest(request, this.config);
    if (!principal) return { owner: ownerOfAddress(request.ip, request.socket.remoteAddress), limits };
    const key = { id: principal.keyId, unbannedAt: principal.unbannedAt };
    return { owner: ownerOfAccount(principal.accountId), limits, key };
  }

  private announce(
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
