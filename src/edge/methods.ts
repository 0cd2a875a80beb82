import { METHODS } from 'node:http';
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify';

/** What a URL has: its methods, and the config that its first route declared. */
interface Address {
  readonly methods: Set<string>;
  readonly config: FastifyContextConfig | undefined;
}

/** The methods that some address of the service has. */
export const SERVED_METHODS = ['GET', 'HEAD', 'POST', 'PATCH'] as const;

/** CONNECT never reaches a route. */
const ROUTABLE_METHODS = METHODS.filter((method) => method !== 'CONNECT');

/**
 * Collects every URL as it is registered. The returned function, to be called once all routes are there, gives each
 * URL one more route for the methods that it lacks, so that the door can answer 405 with `Allow` (RFC 9110, 15.5.6).
 */
export function collectMethods(fastify: FastifyInstance): () => void {
  const addresses = new Map<string, Address>();
  fastify.addHook('onRoute', (route) => collect(addresses, route));
  return () => {
    for (const method of ROUTABLE_METHODS) {
      if (!fastify.supportedMethods.includes(method)) fastify.addHttpMethod(method, { hasBody: false });
    }
    for (const [url, address] of addresses) refuseOthers(fastify, url, address);
  };
}

function collect(addresses: Map<string, Address>, { url, method, config }: RouteOptions): void {
  if (url === '*') return;
  const address = addresses.get(url) ?? { methods: new Set<string>(), config };
  for (const each of [method].flat()) address.methods.add(each);
  addresses.set(url, address);
}

function refuseOthers(fastify: FastifyInstance, url: string, { methods, config }: Address): void {
  const allow = [...methods].sort().join(', ');
  fastify.route({
    method: ROUTABLE_METHODS.filter((method) => !methods.has(method)),
    url,
    config: { ...(config?.public ? { public: true } : {}), allow },
    exposeHeadRoute: false,
    handler: () => {
      throw new Error('the door answers a method that its URL does not have');
    },
  });
}
