import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Standing } from './rate-limit.store';

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
