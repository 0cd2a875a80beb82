import type { FastifyInstance, RouteOptions } from 'fastify';
import { UserError } from '../../platform/errors/user-error';

/**
 * Collects every route as it is registered, and rejects two routes of one method and address.
 *
 * @param scopes those that the extensions declare
 * @returns a function that rejects a route without a valid declaration, now and when one is registered later
 */
export function collectRoutes(fastify: FastifyInstance, scopes: readonly string[]): () => void {
  const routes: RouteOptions[] = [];
  const addresses = new Set<string>();
  fastify.addHook('onRoute', (route) => {
    requireOwnAddress(route, addresses);
    routes.push(route);
  });
  return () => {
    for (const route of routes) requireDeclaration(route, scopes);
    fastify.addHook('onRoute', (route) => requireDeclaration(route, scopes));
  };
}

/** The router rejects them too, in an error without the fix. It replaces its own HEAD routes. */
function requireOwnAddress({ method, url, constraints = {} }: RouteOptions, addresses: Set<string>): void {
  const path = url.replaceAll(/:\w+(?=\/|$)/g, ':');
  for (const each of [method].flat().filter((name) => name !== 'HEAD')) {
    const address = `${each} ${path} ${JSON.stringify(constraints)}`;
    if (addresses.has(address)) {
      throw new UserError(`Two handlers serve ${each} ${url}: change the path of one of them.`);
    }
    addresses.add(address);
  }
}

/** A route is public, is for every key, or declares a scope of an extension. Routes that serve no operation need none. */
function requireDeclaration({ method, url, config = {} }: RouteOptions, declared: readonly string[]): void {
  const { scopes = [], anyKey } = config;
  if (config.public || isWithoutOperation(url, config)) return;
  // An empty list is a mistake: in the document it would be for every key.
  if (scopes.length === 0 && !anyKey) {
    throw new UserError(
      `${String(method)} ${url} declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.`,
    );
  }
  const unknown = scopes.find((scope) => !declared.includes(scope));
  if (unknown !== undefined) {
    throw new UserError(
      `${String(method)} ${url} requires the scope ${unknown}, which no extension declares: use one of ${declared.join(', ')}.`,
    );
  }
}

/** A route with `allow` responds 405 to every request; '*' is the route of @fastify/cors for preflights. */
function isWithoutOperation(url: string, { allow }: { readonly allow?: string }): boolean {
  return allow !== undefined || url === '*';
}
