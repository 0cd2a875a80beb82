import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimitCheck } from './rate-limit.check';

/** Enforces the limits if the request checks were removed. Normally they have run, and it returns true. */
@Injectable()
export class FallbackRateLimitGuard implements CanActivate {
  constructor(private readonly limit: RateLimitCheck) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.isAdmitted || request.rateLimit) return true;
    return this.check(request, http.getResponse<FastifyReply>());
  }

  private async check(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const rejection = await this.limit.check(request, reply);
    if (rejection) throw rejection;
    return true;
  }
}
