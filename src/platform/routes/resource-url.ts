import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Returns the URL of a request without its query: the path of its route below the configured base URL, never that of the
 * Host header.
 */
export function resourceUrl({ routeOptions, params }: FastifyRequest, baseUrl: string): string {
  const path = routeOptions.url?.replace(/^\/v1(?=\/)/, '') ?? '';
  const values = new Map(Object.entries(params ?? {}));
  return baseUrl + path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(String(values.get(name))));
}

/** Sets the `Location` of a created resource with an `id` (RFC 9110, 10.2.2), unless the handler has set it. */
export function setLocation(reply: FastifyReply, baseUrl: string, created: unknown): void {
  const id = typeof created === 'object' && created !== null && 'id' in created ? created.id : undefined;
  if (reply.statusCode !== 201 || reply.hasHeader('Location') || id === undefined) return;
  // An id is a bigint, a number or a text.
  // oxlint-disable-next-line typescript/no-base-to-string
  reply.header('Location', `${resourceUrl(reply.request, baseUrl)}/${encodeURIComponent(String(id))}`);
}
