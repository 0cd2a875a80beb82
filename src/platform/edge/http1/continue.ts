import type { FastifyInstance } from 'fastify';
import { declaredBodyError } from '../body';

/**
 * Sends `100 Continue` to a request that expects it (RFC 9110, 10.1.1), if its headers describe an acceptable body.
 * A client that waits for it never sends a body that the service would discard.
 */
export function sendContinue(fastify: FastifyInstance, limitBytes: number): void {
  fastify.addHook('preParsing', (request, reply, payload, done) => {
    const { headers, raw } = request;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    const isExpected = headers.expect !== undefined && raw.httpVersion === '1.1';
    if (isExpected && hasBody && !declaredBodyError(request, limitBytes)) reply.raw.writeContinue();
    done(null, payload);
  });
}
