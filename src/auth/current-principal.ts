import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../api/routes/request-context';

/**
 * Injects the principal of the request into a controller method.
 *
 * @throws Error on a `@Public()` route, because its requests have no principal
 */
export const CurrentPrincipal = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Principal => {
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!principal) throw new Error('@CurrentPrincipal() on a request without a principal');
    return principal;
  },
);
