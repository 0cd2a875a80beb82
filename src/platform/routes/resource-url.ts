import type { FastifyRequest } from 'fastify';

/**
 * Returns the URL of a request without its query: the path of its route below the configured base URL, never that of the
 * Host header.
 */
export function resourceUrl({ routeOptions, params }: FastifyRequest, baseUrl: string): string {
  const path = routeOptions.url?.replace(/^\/v1(?=\/)/, '') ?? '';
  const values = new Map(Object.entries(params ?? {}));
  return baseUrl + path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(String(values.get(name))));
}

/** Returns the `Location` of a created resource (RFC 9110, 10.2.2); undefined if the value has no `id`. */
export function locationOf(request: FastifyRequest, baseUrl: string, created: unknown): string | undefined {
  if (typeof created !== 'object' || created === null || !('id' in created)) return undefined;
  return `${resourceUrl(request, baseUrl)}/${String(created.id)}`;
}
