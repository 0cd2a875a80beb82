import type { FastifyInstance } from 'fastify';
import { type Deprecation, deprecationHeaders } from '../http/deprecation';
import { isApiPath } from '../http/target';

/** The constant headers of every response, whether or not Fastify sends it. */
export const COMMON_HEADERS = { 'X-Content-Type-Options': 'nosniff' } as const;

/** Sets the headers that depend only on the request and its route, on every response of Fastify. */
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
