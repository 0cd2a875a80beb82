import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { sendError } from '../errors/error-reply';

declare module 'fastify' {
  interface FastifyRequest {
    /** True once every check of the door let the request through. */
    admitted: boolean;
  }
}

/** One check of the door: a refusal as a value, or nothing where the request may go on. It throws only on failure. */
export type Check = (
  request: FastifyRequest,
  reply: FastifyReply,
) => ApiError | undefined | Promise<ApiError | undefined>;

/**
 * Runs the checks in their order for every request, before its body is read and whether or not a route matches.
 * Nest runs guards only for known routes and after the body was parsed.
 */
export function installDoor(fastify: FastifyInstance, checks: readonly Check[]): void {
  fastify.decorateRequest('admitted', false);
  fastify.addHook('onRequest', async (request, reply) => {
    for (const check of checks) {
      const outcome = check(request, reply);
      const refusal = outcome instanceof Promise ? await outcome : outcome;
      if (refusal) return sendError(reply, refusal);
    }
    request.admitted = true;
    return undefined;
  });
}
