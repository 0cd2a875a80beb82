import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/config';
import type { OwnerLimits } from './rate-limit.store';

/** The limits of whoever asks: those of the account's plan, or the budget of requests without a valid key. */
export function limitsOfRequest({ principal }: FastifyRequest, config: Config): OwnerLimits {
  return principal ? principal.limits : anonymousLimits(config);
}

export function anonymousLimits({ rateLimitAnonymousPerMinute }: Config): OwnerLimits {
  return { perMinute: rateLimitAnonymousPerMinute };
}
