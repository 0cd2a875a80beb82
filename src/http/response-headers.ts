import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entityTagOf, isNotModified, serializeJson } from '../api/entity-tags/entity-tag';
import { JSON_TYPE } from '../api/errors/api-error';
import { Page } from '../api/lists/page';
import type { PathParams } from '../api/routes/route-facts';
import type { ThrottleGuard } from '../rate-limit';
import type { Connections } from './connections';

/** Sets the headers of every response of Fastify, and responds 304 to a conditional read of the current state. */
export function installResponseHeaders(
  fastify: FastifyInstance,
  connections: Connections,
  baseUrl: string,
  limits: ThrottleGuard,
): void {
  fastify.decorateReply('urlOf', (path, resource) => urlOf(baseUrl, path, resource));
  fastify.decorateReply('locationOf', function (created) {
    const own = this.getHeader('Location')?.toString();
    const { location } = this.request.routeOptions.config;
    const hasId = typeof created === 'object' && created !== null && 'id' in created;
    if (own !== undefined || this.statusCode !== 201 || (location === undefined && !hasId)) return own;
    const prefix = location === undefined ? resourceUrl(this.request, baseUrl) : baseUrl;
    return urlOf(prefix, location ?? '/:id', created);
  });
  fastify.addHook('preSerialization', (_request, reply, payload, done) => {
    if (payload instanceof Page) sendPage(reply, payload, baseUrl);
    const location = reply.statusCode === 201 ? reply.locationOf(payload) : undefined;
    if (location !== undefined) reply.header('Location', location);
    done(null, payload);
  });
  fastify.addHook<unknown, { Params: PathParams }>('onSend', (request, reply, payload, done) => {
    const { deprecation, entityTag } = request.routeOptions.config;
    reply.header('X-Content-Type-Options', 'nosniff').header('X-Request-Id', request.id);
    // setEntityTag() sets another value.
    reply.header('Cache-Control', 'no-store');
    if (deprecation) {
      // RFC 5829.
      const successor = `<${baseUrl}${deprecation.successorOf(request.params)}>; rel="successor-version"`;
      reply.headers(deprecation.headers).header('Link', successor);
    }
    const { ip, socket, rateLimit, standing } = request;
    if (!rateLimit && !standing) reply.headers(limits.headersOf(ip, socket.remoteAddress));
    if (connections.isStopping || request.raw.bodyError) reply.header('Connection', 'close');
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    const isCurrent = entityTag && isWhole && setEntityTag(request, reply, payload);
    if (isCurrent) reply.code(304);
    // Fastify itself leaves out the body of HEAD, and sends the length of the 200.
    if (isCurrent && request.method === 'GET') done(null, null);
    else done();
  });
}

/** Makes the items of a page the body. Requests that share the page share the text, too. */
function sendPage(reply: FastifyReply, page: Page<unknown>, baseUrl: string): void {
  const { request } = reply;
  const { config: route } = request.routeOptions;
  if (page.response?.route !== route) {
    const body = page.printed ?? serializeJson(reply, page.items);
    const link = page.linksAt(resourceUrl(request, baseUrl));
    const headers = {
      'Content-Type': JSON_TYPE,
      ...(link !== undefined && { Link: link }),
      ...(route.entityTag && { ETag: entityTagOf(body) }),
    };
    page.response = { route, body, headers };
  }
  const { body, headers } = page.response;
  reply.headers(headers).serializer(() => body);
}

/**
 * Returns the URL of a request without its query: the path of its route below the configured base URL. The Host header is
 * ignored.
 */
function resourceUrl({ routeOptions, params }: FastifyRequest, baseUrl: string): string {
  return urlOf(baseUrl, routeOptions.url?.replace(/^\/v1(?=\/)/, ''), params);
}

function urlOf(prefix: string, path = '', resource: unknown): string {
  const values: Readonly<Record<string, unknown>> = { ...Object(resource) };
  return prefix + path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values[name])));
}

/**
 * Gives a 200 or 201 its entity tag, unless it has one. @returns true for a GET or HEAD whose `If-None-Match` names it
 * (RFC 9110, 13.1.2)
 */
function setEntityTag(request: FastifyRequest, reply: FastifyReply, payload: string | Buffer): boolean {
  const { method, headers, routeOptions } = request;
  const { entityTag: without = [], public: isPublic } = routeOptions.config;
  const { statusCode } = reply;
  if (statusCode !== 200 && statusCode !== 201) return false;
  const known = reply.getHeader('etag');
  const tag = typeof known === 'string' ? known : entityTagOf(payload, without);
  if (known === undefined) reply.header('ETag', tag);
  // Two bodies may have one tag: it serves changes only.
  if (without.length > 0) return false;
  // A client may keep it, for itself, and must ask each time whether it is still current.
  if (statusCode === 200) reply.header('Cache-Control', isPublic ? 'no-cache' : 'private, no-cache');
  return (method === 'GET' || method === 'HEAD') && isNotModified(headers, tag);
}
