import type { FastifyRequest } from 'fastify';
import { routeFacts } from './route-facts';
import { isApiPath } from './target';

/** Declares a public route: it requires no key and has no rate limit. */
export function Public(): MethodDecorator {
  return routeFacts({ public: true });
}

/** Declares a public route that an orchestrator requests all the time. */
export function Probe(): MethodDecorator {
  return routeFacts({ public: true, probe: true });
}

/** True if the request needs a key: on routes that are not public, and on API paths without a route. */
export function isProtected(request: FastifyRequest): boolean {
  return hasRoute(request) ? !request.routeOptions.config.public : isApiPath(request.originalUrl);
}

/** True if the path has a route. '*' does not count: @fastify/cors adds it for preflights. */
export function hasRoute({ is404, routeOptions }: FastifyRequest): boolean {
  return !is404 && routeOptions.url !== '*';
}
