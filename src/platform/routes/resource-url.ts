import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Returns the URL of a request without its query: the path of its route below the configured base URL. The Host header is
 * ignored.
 */
export function resourceUrl({ routeOptions, params }: FastifyRequest, baseUrl: string): string {
  return urlOf(baseUrl, routeOptions.url?.replace(/^\/v1(?=\/)/, ''), { ...Object(params) });
}

/** Returns the `Location` of a 201 (RFC 9110, 10.2.2): the header that the handler has set, or the URL of the resource. */
export function locationOf(reply: FastifyReply, baseUrl: string, created: unknown): string | undefined {
  const own = reply.getHeader('Location')?.toString();
  const { location } = reply.request.routeOptions.config;
  const hasId = typeof created === 'object' && created !== null && 'id' in created;
  if (own !== undefined || reply.statusCode !== 201 || (location === undefined && !hasId)) return own;
  const prefix = location === undefined ? resourceUrl(reply.request, baseUrl) : baseUrl;
  return urlOf(prefix, location ?? '/:id', { ...Object(created) });
}

/** Returns a URL whose path has the values of its parameters, such as `:id`. */
export function urlOf(prefix: string, path = '', values: Readonly<Record<string, unknown>>): string {
  return prefix + path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values[name])));
}
