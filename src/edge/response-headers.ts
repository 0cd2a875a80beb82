import type { FastifyInstance } from 'fastify';
import { deprecationHeaders } from '../http/deprecated.decorator';
import type { Deprecation } from '../http/route-facts';
import { isApiPath } from './target';

/** Headers of every response, whoever answers: preflight, door, handler or filter. */
export const COMMON_HEADERS = { 'X-Content-Type-Options': 'nosniff' } as const;

/** Sets the headers that depend on the request and its route alone, on every response of the router. */
export function installResponseHeaders(fastify: FastifyInstance, baseUrl: string): void {
  const announcements = new Map<Deprecation, Readonly<Record<string, string>>>();
  fastify.addHook('onRoute', ({ config: { deprecation } = {} }) => {
    if (deprecation) announcements.set(deprecation, deprecationHeaders(deprecation, baseUrl));
  });
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    reply.headers(COMMON_HEADERS).header('X-Request-Id', request.id);
    if (isApiPath(request.originalUrl)) reply.header('Cache-Control', 'no-store');
    const { deprecation } = request.routeOptions.config;
    const announcement = deprecation && announcements.get(deprecation);
    if (announcement) reply.headers(announcement);
    done();
  });
}
