import type { FastifyRequest } from 'fastify';
import type { Config } from '../platform/config/config';
import type { OwnerLimits } from './rate-limit.store';

/** Returns the limits of the account's plan, or those of requests without a valid key. */
export function limitsOfRequest({ principal }: FastifyRequest, config: Config): OwnerLimits {
  return principal ? principal.limits : anonymousLimits(config);
}

export function anonymousLimits({ rateLimitAnonymousPerMinute }: Config): OwnerLimits {
  return { perMinute: rateLimitAnonymousPerMinute };
}
