import type { FastifyInstance } from 'fastify';
import { deprecationHeaders, type PathParams } from '../http/deprecation';
import { isApiPath } from '../http/target';

/** The constant headers of every response, whether or not Fastify sends it. */
export const COMMON_HEADERS = { 'X-Content-Type-Options': 'nosniff' } as const;

/** Sets the headers that depend only on the request and its route, on every response of Fastify. */
export function installResponseHeaders(fastify: FastifyInstance, baseUrl: string): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    reply.headers(COMMON_HEADERS).header('X-Request-Id', request.id);
    if (isApiPath(request.originalUrl)) reply.header('Cache-Control', 'no-store');
    const { deprecation } = request.routeOptions.config;
    if (deprecation) {
      // Every parameter of a path is a text.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      reply.headers(deprecationHeaders(deprecation, baseUrl, request.params as PathParams));
    }
    done();
  });
}
