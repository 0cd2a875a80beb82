import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { sendError } from '../errors/error-reply';
import type { RequestCheck } from '../http/request-check';
import { tracer } from '../tracing/tracer';
import { traceChecks } from './request-spans';

/**
 * Runs the checks in their order for every request, before its body is read and whether or not a route matches.
 * Nest's guards run for known routes only, and after the body was parsed.
 */
export function installRequestChecks(fastify: FastifyInstance, checks: readonly RequestCheck[]): void {
  fastify.decorateRequest('isAdmitted', false);
  const check: RequestCheck = (request, reply) => firstError(checks, request, reply);
  const run = tracer ? traceChecks(tracer, check) : check;
  fastify.addHook('onRequest', (request, reply, done) => {
    // Fastify continues after `done` with a false value.
    const fail = (failure: unknown): void =>
      done(failure instanceof Error ? failure : new Error(`a request check failed: ${String(failure)}`));
    const finish = (error: ApiError | undefined): void => {
      if (error) {
        try {
          sendError(reply, error);
        } catch (failure) {
          fail(failure);
        }
        return;
      }
      request.isAdmitted = true;
      done();
    };
    const outcome = run(request, reply);
    if (outcome instanceof Promise) outcome.then(finish, fail);
    else finish(outcome);
  });
}

/** Returns a promise only if a check does: most requests need none. */
function firstError(
  checks: readonly RequestCheck[],
  request: FastifyRequest,
  reply: FastifyReply,
): ReturnType<RequestCheck> {
  for (const [at, check] of checks.entries()) {
    const outcome = check(request, reply);
    if (outcome instanceof Promise) {
      return outcome.then((error) => error ?? firstError(checks.slice(at + 1), request, reply));
    }
    if (outcome) return outcome;
  }
  return undefined;
}
