import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip, addVary } from '../errors/media-types';
import { entityTagOf } from './entity-tag';

const compress = promisify(gzip);

/** The headers of the 200, and its body. */
type Content = readonly [Readonly<Record<'Content-Type', string> & Record<string, string>>, string | Buffer];

/**
 * Content that is the same for every client, on a route with `entityTag`. The first request makes it, hashes the bytes,
 * and compresses them in a thread of zlib. All responses share them: any client may request the largest document, and a
 * string would be encoded for each response.
 */
export class StaticContent {
  private variants: ReturnType<typeof variantsOf> | undefined;

  constructor(private readonly make: () => Content) {}

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { plain, zipped } = await (this.variants ??= variantsOf(this.make()));
    const { bytes, headers } = acceptsGzip(request.headers['accept-encoding']) ? zipped : plain;
    addVary(reply, 'Accept-Encoding');
    return reply.headers(headers).send(bytes);
  }
}

/** Serves content to every client, without a key. */
export function serveStatic(fastify: FastifyInstance, path: string, make: () => Content): void {
  const content = new StaticContent(make);
  fastify.get(path, { config: { public: true, entityTag: [] } }, (request, reply) =>
    content.send(request, reply),
  );
}

/** Returns the bytes of each content coding. Its entity tag is its own (RFC 9110, 8.8.3.3). */
async function variantsOf([headers, body]: Content) {
  const bytes = Buffer.from(body);
  const coded = await compress(bytes);
  return {
    plain: { bytes, headers: { ...headers, ETag: entityTagOf(bytes) } },
    zipped: { bytes: coded, headers: { ...headers, ETag: entityTagOf(coded), 'Content-Encoding': 'gzip' } },
  };
}
