import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { entityTagOf } from '../../api/entity-tags/entity-tag';

const compress = promisify(gzip);

/** The coding in Accept-Encoding, unless its weight is 0 (RFC 9110, 12.5.3). */
const GZIP = /(?:^|,)\s*gzip\s*(?:,|;\s*q=(?:1|0\.0*[1-9])|$)/i;

/** The headers of the 200, and its body. */
type Content = readonly [Readonly<Record<'Content-Type', string> & Record<string, string>>, string | Buffer];

/** Let a page of any origin read the content, without credentials (Fetch standard, CORS protocol). */
const OPEN = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' } as const;

/**
 * Serves the same content to every client, without a key, and so to pages of every origin. The first request makes it,
 * hashes the bytes, and compresses them in a thread of zlib. All responses share them: any client may request the largest
 * document, and a string would be encoded for each response.
 */
export function serveStatic(fastify: FastifyInstance, path: string, make: () => Content): void {
  let variants: ReturnType<typeof variantsOf> | undefined;
  const config = { public: true, cors: false, entityTag: [] } as const;
  fastify.get(path, { config }, async (request, reply) => {
    const { plain, zipped } = await (variants ??= variantsOf(make()));
    const { bytes, headers } = GZIP.test(String(request.headers['accept-encoding'])) ? zipped : plain;
    return reply.header('Vary', 'Accept-Encoding').headers(OPEN).headers(headers).send(bytes);
  });
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
