import type { FastifyInstance } from 'fastify';
import { sendError } from '../errors/error-reply';
import type { RequestCheck } from '../http/request-check';

/**
 * Runs the checks in their order for every request, before its body is read and whether or not a route matches.
 * Nest's guards run for known routes only, and after the body was parsed.
 */
export function installRequestChecks(fastify: FastifyInstance, checks: readonly RequestCheck[]): void {
  fastify.decorateRequest('isAdmitted', false);
  fastify.addHook('onRequest', async (request, reply) => {
    for (const check of checks) {
      const outcome = check(request, reply);
      const error = outcome instanceof Promise ? await outcome : outcome;
      if (error) return sendError(reply, error);
    }
    request.isAdmitted = true;
    return undefined;
  });
}
