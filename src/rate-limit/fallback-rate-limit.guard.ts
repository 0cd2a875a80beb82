import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimitCheck } from './rate-limit.check';

/** Enforces the limits if the request checks were removed. Normally they have run, and it returns true. */
@Injectable()
export class FallbackRateLimitGuard implements CanActivate {
  constructor(private readonly limit: RateLimitCheck) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.isAdmitted || request.rateLimit) return true;
    const rejection = await this.limit.check(request, http.getResponse<FastifyReply>());
    if (rejection) throw rejection;
    return true;
  }
}
