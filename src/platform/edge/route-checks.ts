import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { malformedRequest, methodNotAllowed, routeNotFound, uriTooLong } from '../errors/http.errors';
import { hasRoute } from '../http/protection';
import { decodedPath, isTooLong, TARGET_LIMIT_BYTES } from '../http/target';

/** The request checks that need only the URL and its route. */

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
