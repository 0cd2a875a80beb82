import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from './principal';

/**
 * Whose request it is, as a parameter of a controller method.
 *
 * @throws Error on a route that anyone may call: nobody was asked for a key there
 */
export const CurrentPrincipal = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Principal => {
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!principal) throw new Error('a handler asks for the principal of a request that has none');
    return principal;
  },
);
