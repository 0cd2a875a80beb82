import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { malformedRequest, methodNotAllowed, routeNotFound, uriTooLong } from '../errors/http.errors';
import { decodedPath, isApiPath, isTooLong, TARGET_LIMIT_BYTES } from './target';

/** The checks of the door that need nothing but the URL and the router's answer to it. */

export function requireShortTarget({ originalUrl }: FastifyRequest): ApiError | undefined {
  return isTooLong(originalUrl) ? uriTooLong(TARGET_LIMIT_BYTES) : undefined;
}

export function requireDecodablePath({ originalUrl }: FastifyRequest): ApiError | undefined {
  if (decodedPath(originalUrl) !== undefined) return undefined;
  return malformedRequest('The path is not percent-encoded UTF-8.');
}

export function requireRoute(request: FastifyRequest): ApiError | undefined {
  const { allow } = request.routeOptions.config;
  if (!hasRoute(request)) return routeNotFound();
  return allow === undefined ? undefined : methodNotAllowed(allow);
}

/** True where a key is needed: on every route that is not public, and wherever below the API there is no route. */
export function isProtected(request: FastifyRequest): boolean {
  return hasRoute(request) ? !request.routeOptions.config.public : isApiPath(request.originalUrl);
}

/** '*' is the route that @fastify/cors adds for preflights, and leads nowhere. */
function hasRoute({ is404, routeOptions }: FastifyRequest): boolean {
  return !is404 && routeOptions.url !== '*';
}
