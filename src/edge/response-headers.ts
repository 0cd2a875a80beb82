import type { FastifyInstance } from 'fastify';
import { deprecationHeaders } from '../http/deprecated.decorator';
import { isApiPath } from './target';

/** Headers of every response, whoever answers: preflight, door, handler or filter. */
export const COMMON_HEADERS = { 'X-Content-Type-Options': 'nosniff' } as const;

/** Sets the headers that depend on the request and its route alone, on every response of the router. */
export function installResponseHeaders(fastify: FastifyInstance, baseUrl: string): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    reply.headers(COMMON_HEADERS).header('X-Request-Id', request.id);
    if (isApiPath(request.originalUrl)) reply.header('Cache-Control', 'no-store');
    const { deprecation } = request.routeOptions.config;
    if (deprecation) reply.headers(deprecationHeaders(deprecation, baseUrl));
    done();
  });
}
