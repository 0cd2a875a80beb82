import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AuthChecks } from './auth.checks';

/** Runs the authentication checks only if the request checks did not run; `test/routes.spec.ts` proves it. */
@Injectable()
export class FallbackAuthGuard implements CanActivate {
  constructor(private readonly checks: AuthChecks) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return request.isAdmitted || this.check(request);
  }

  private async check(request: FastifyRequest): Promise<boolean> {
    await this.checks.identify(request);
    const rejection = this.checks.requireKey(request) ?? this.checks.requireScope(request);
    if (rejection) throw rejection;
    return true;
  }
}
