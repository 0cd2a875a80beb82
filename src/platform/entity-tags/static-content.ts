import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { entityTagOf } from './entity-tag';

const compress = promisify(gzip);

/** Longer headers are not parsed. */
const MAX_ACCEPT_LENGTH = 1_000;
const GZIP = /(?:^|,)\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i;
const ANY = /(?:^|,)\s*\*\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/;

/** The headers of the 200, and its body. */
type Content = readonly [Readonly<Record<'Content-Type', string> & Record<string, string>>, string | Buffer];

/** True if the header of a request accepts gzip (RFC 9110, 12.5.3). */
function acceptsGzip(accepted: string | string[] = ''): boolean {
  if (accepted.length > MAX_ACCEPT_LENGTH) return false;
  const [, weight = 1] = GZIP.exec(String(accepted)) ?? ANY.exec(String(accepted)) ?? [undefined, 0];
  return Number(weight) > 0;
}

/**
 * Serves the same content to every client, without a key. The first request makes it, hashes the bytes, and compresses
 * them in a thread of zlib. All responses share them: any client may request the largest document, and a string would be
 * encoded for each response.
 */
export function serveStatic(fastify: FastifyInstance, path: string, make: () => Content): void {
  let variants: ReturnType<typeof variantsOf> | undefined;
  fastify.get(path, { config: { public: true, entityTag: [] } }, async (request, reply) => {
    const { plain, zipped } = await (variants ??= variantsOf(make()));
    const { bytes, headers } = acceptsGzip(request.headers['accept-encoding']) ? zipped : plain;
    const vary = [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
    return reply.header('Vary', vary).headers(headers).send(bytes);
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
