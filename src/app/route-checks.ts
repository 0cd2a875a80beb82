import type { RouteOptions } from 'fastify';
import { UserError } from '../platform/errors/user-error';
import { GUARDED } from '../platform/routes/route-facts';

/**
 * Requires that a route is public, is for every key, or declares a scope. '*' is the route of @fastify/cors.
 *
 * @param declared the scopes of the extensions
 * @throws UserError
 */
export function requireDeclaration(
  { method, url, config = {} }: RouteOptions,
  declared: readonly string[],
): void {
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
