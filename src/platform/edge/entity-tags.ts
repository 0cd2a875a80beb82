import type { FastifyInstance } from 'fastify';
import { entityTagOf, isNotModified } from '../http/entity-tag';

/** A client may keep the response, for itself, and must ask each time whether it is still current. */
const REVALIDATED = 'private, no-cache';

/**
 * Gives every 200 and 201 of an operation its entity tag, and responds 304 to a GET or HEAD whose `If-None-Match` names
 * it (RFC 9110, 13.1.2). A page has its tag already: requests that share a page share the hash.
 */
export function installEntityTags(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const { statusCode } = reply;
    const isTagged = request.routeOptions.config.entityTag && (statusCode === 200 || statusCode === 201);
    if (!isTagged || typeof payload !== 'string') {
      done();
      return;
    }
    const known = reply.getHeader('etag');
    const tag = typeof known === 'string' ? known : entityTagOf(payload);
    if (known === undefined) reply.header('ETag', tag);
    if (statusCode === 200) reply.header('Cache-Control', REVALIDATED);
    const { method, headers } = request;
    const isCurrent = (method === 'GET' || method === 'HEAD') && isNotModified(headers, tag);
    if (isCurrent) reply.code(304);
    // Fastify itself leaves out the body of HEAD, and sends the length of the 200.
    if (isCurrent && method === 'GET') done(null, null);
    else done();
  });
}
