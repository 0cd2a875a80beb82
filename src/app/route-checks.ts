import type { FastifyInstance, RouteOptions } from 'fastify';
import { UserError } from '../platform/errors/user-error';
import { GUARDED } from '../platform/routes/route-facts';

/**
 * Collects every route as it is registered.
 *
 * @param scopes those that the extensions declare
 * @returns a function that rejects a route without a valid declaration, now and when one is registered later
 */
export function collectRoutes(fastify: FastifyInstance, scopes: readonly string[]): () => void {
  const routes: RouteOptions[] = [];
  fastify.addHook('onRoute', (route) => void routes.push(route));
  return () => {
    for (const route of routes) requireDeclaration(route, scopes);
    fastify.addHook('onRoute', (route) => requireDeclaration(route, scopes));
  };
}

/** A route is public, is for every key, or declares a scope of an extension. '*' is the route of @fastify/cors. */
function requireDeclaration({ method, url, config = {} }: RouteOptions, declared: readonly string[]): void {
  const { scopes = [], anyKey } = config;
  if (config.public || url === '*') return;
  // An empty list is a mistake: in the document it would be for every key. JavaScript may leave the scope out.
  if (!scopes[0] && !anyKey) {
    throw new UserError(
      `${String(method)} ${url} declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.`,
    );
  }
  if (!config[GUARDED]) {
    throw new UserError(
      `No guard protects ${String(method)} ${url}: make its handler a method of a controller.`,
    );
  }
  const unknown = scopes.find((scope) => !declared.includes(scope));
  if (unknown !== undefined) {
    throw new UserError(
      `${String(method)} ${url} requires the scope ${unknown}, which no extension declares: use one of ${declared.join(', ')}.`,
    );
  }
}
