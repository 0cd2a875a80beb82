import type { FastifyInstance, RouteOptions } from 'fastify';
import { DeclarationError } from './declaration.error';

/**
 * Collects every route as it is registered.
 *
 * @returns rejects a route that declares neither a scope nor that it is public, also one that is registered later
 */
export function collectRoutes(fastify: FastifyInstance): () => void {
  const routes: RouteOptions[] = [];
  fastify.addHook('onRoute', (route) => void routes.push(route));
  return () => {
    routes.forEach(requireDeclaration);
    fastify.addHook('onRoute', requireDeclaration);
  };
}

/** A route with `allow` responds 405 to all; '*' is the route of @fastify/cors for preflights and leads nowhere. */
function requireDeclaration({ method, url, config = {} }: RouteOptions): void {
  if (config.public || config.scope !== undefined || config.allow !== undefined || url === '*') return;
  throw new DeclarationError(
    `${String(method)} ${url} declares neither a scope nor that it is public: add @RequireScope(…) or @Public() to its handler.`,
  );
}
