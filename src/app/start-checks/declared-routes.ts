import type { FastifyInstance, RouteOptions } from 'fastify';
import { isScope, SCOPES } from '../../accounts';
import { UserError } from '../../platform/errors/user-error';

/**
 * Collects every route as it is registered.
 *
 * @returns a function that rejects a route without a valid declaration, now and when one is registered later
 */
export function collectRoutes(fastify: FastifyInstance): () => void {
  const routes: RouteOptions[] = [];
  fastify.addHook('onRoute', (route) => void routes.push(route));
  return () => {
    routes.forEach(requireDeclaration);
    fastify.addHook('onRoute', requireDeclaration);
  };
}

/** A route is public or declares an existing scope. Routes that serve no operation need neither. */
function requireDeclaration({ method, url, config = {} }: RouteOptions): void {
  const { scope } = config;
  if (config.public || isWithoutOperation(url, config)) return;
  if (scope === undefined) {
    throw new UserError(
      `${String(method)} ${url} declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.`,
    );
  }
  if (!isScope(scope)) {
    throw new UserError(
      `${String(method)} ${url} requires the scope ${scope}, which does not exist: use one of ${SCOPES.join(', ')}.`,
    );
  }
}

/** A route with `allow` responds 405 to every request; '*' is the route of @fastify/cors for preflights. */
function isWithoutOperation(url: string, { allow }: { readonly allow?: string }): boolean {
  return allow !== undefined || url === '*';
}
