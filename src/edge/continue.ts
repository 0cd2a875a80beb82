import type { FastifyInstance } from 'fastify';
import { refusalByHead } from './body';

/**
 * Invites the body of a request with `Expect: 100-continue` (RFC 9110, 10.1.1) only when nothing in its head refuses
 * it: a client that asks first is never made to send what is thrown away.
 */
export function inviteBodies(fastify: FastifyInstance, limitBytes: number): void {
  fastify.addHook('preParsing', (request, reply, payload, done) => {
    const { headers, raw } = request;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    const isAsked = headers.expect !== undefined && raw.httpVersion === '1.1';
    if (isAsked && hasBody && !refusalByHead(request, limitBytes)) reply.raw.writeContinue();
    done(null, payload);
  });
}
