import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip, addVary } from '../errors/media-types';
import { entityTagOf } from './entity-tag';

const compress = promisify(gzip);

/** `Content-Type`, and further headers of the 200. */
type Headers = Readonly<Record<'Content-Type', string> & Record<string, string>>;

/**
 * Content that is the same for every client, on a route with `entityTag`. The first request makes and hashes the bytes,
 * and compresses them in a thread of zlib. All responses share them: any client may request the largest document, and a
 * string would be encoded for each response.
 */
export class StaticContent {
  private variants: ReturnType<typeof variantsOf> | undefined;

  constructor(
    private readonly headers: Headers,
    private readonly make: () => string | Buffer,
  ) {}

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { plain, zipped } = await (this.variants ??= variantsOf(Buffer.from(this.make())));
    const { bytes, headers } = acceptsGzip(request.headers['accept-encoding']) ? zipped : plain;
    addVary(reply, 'Accept-Encoding');
    return reply.headers(this.headers).headers(headers).send(bytes);
  }
}

/** Serves content to every client, without a key. */
export function serveStatic(
  fastify: FastifyInstance,
  path: string,
  headers: Headers,
  make: () => string | Buffer,
): void {
  const content = new StaticContent(headers, make);
  fastify.get(path, { config: { public: true, entityTag: [] } }, (request, reply) =>
    content.send(request, reply),
  );
}

/** Returns the bytes of each content coding. Its entity tag is its own (RFC 9110, 8.8.3.3). */
async function variantsOf(bytes: Buffer) {
  const coded = await compress(bytes);
  return {
    plain: { bytes, headers: { ETag: entityTagOf(bytes) } },
    zipped: { bytes: coded, headers: { ETag: entityTagOf(coded), 'Content-Encoding': 'gzip' } },
  };
}
