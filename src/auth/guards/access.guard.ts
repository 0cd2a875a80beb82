import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ANY_KEY, SCOPES } from '../../api/routes/route-facts';
import { insufficientScope } from './auth.errors';

/**
 * Throws the 401 or 403 that `BearerGuard` has kept, of a request without a usable key, and the 403 of a key that lacks the
 * scopes of the route. `ThrottleGuard` has counted the request.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  /** @throws ApiError 401 or 403 */
  canActivate(context: ExecutionContext): true {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { keyRejection, principal, routeOptions } = request;
    const { public: isPublic, [SCOPES]: scopes } = routeOptions.config;
    if (isPublic) return true;
    if (keyRejection) throw keyRejection;
    // The start rejects a route without a scope (`app/create-app.ts`).
    if (!scopes || !principal) throw new Error('a request must have a principal, and its route a scope');
    if (scopes.some((scope) => scope === ANY_KEY || principal.scopes.includes(scope))) return true;
    throw insufficientScope(...scopes);
  }
}

/** Requires a further scope of a request with this query parameter, before the query is validated. */
export function RequireScopeFor(parameter: string, scope: string): MethodDecorator {
  return UseGuards({
    canActivate(context: ExecutionContext): true {
      const { query, principal } = context.switchToHttp().getRequest<FastifyRequest>();
      const isGiven = typeof query === 'object' && query !== null && parameter in query;
      if (isGiven && principal?.scopes.includes(scope) !== true) throw insufficientScope(scope);
      return true;
    },
  });
}
