import type { FastifyInstance } from 'fastify';
import type { RateLimitCheck } from './rate-limit.check';

/** Adds the window of the client's address to every response that shows no windows of the request itself. */
export function installLimitHeaders(fastify: FastifyInstance, check: RateLimitCheck): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (!request.rateLimit && !request.standing)
      reply.headers(check.headersOf(request.ip, request.socket.remoteAddress));
    done();
  });
}
