import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error';
import { JSON_ONLY, malformedRequest, payloadTooLarge, unsupportedMediaType } from '../errors/http.errors';
import { countHeader } from '../http/raw-headers';
import { bodyFailure } from './broken-body';
import { parseJson } from './json';

declare module 'fastify' {
  interface FastifyRequest {
    /** The Content-Type as it was sent. */
    contentType: string | undefined;
    /** The body as it was sent, byte for byte; undefined where there is none. */
    rawBody: Buffer | undefined;
  }
}

/**
 * Makes JSON the only body that is taken: media type, then size, then the text itself.
 * An empty body is none, whatever its Content-Type says.
 */
export function useJsonBodies(fastify: FastifyInstance, limitBytes: number): void {
  fastify.removeAllContentTypeParsers();
  fastify.decorateRequest('contentType', undefined);
  fastify.decorateRequest('rawBody', undefined);
  fastify.addHook('preParsing', (request, _reply, payload, done) => {
    // Fastify would refuse an odd Content-Type before anyone looks whether there is a body.
    request.contentType = request.headers['content-type'];
    request.headers['content-type'] = undefined;
    done(null, payload);
  });
  fastify.addContentTypeParser('*', (request: FastifyRequest, stream: Readable) =>
    readBody(request, stream, limitBytes),
  );
  fastify.addHook('preValidation', (request, _reply, done) => {
    const { body } = request;
    if (Buffer.isBuffer(body)) {
      request.rawBody = body.length === 0 ? undefined : body;
      request.body = request.rawBody && parseJson(request.rawBody);
    }
    done();
  });
}

/** Collects the body; Fastify closes the connection after a refusal here, as the rest of it stays unread. */
function readBody(request: FastifyRequest, stream: Readable, limitBytes: number): Promise<Buffer> {
  const refused = refusalByHead(request, limitBytes) ?? bodyFailure(request.raw);
  if (refused) return Promise.reject(refused);
  // A chunked body shows only when it comes that it is not empty, or too large.
  const refusal = mediaTypeRefusal(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const refuse = (error: ApiError): void => {
      stream.off('data', take);
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (refusal) refuse(refusal);
      else if (bytes > limitBytes) refuse(payloadTooLarge(limitBytes));
    };
    stream.on('data', take).on('end', () => resolve(Buffer.concat(chunks, bytes)));
    // Broken or too slow; or the client went away: nobody reads the answer, but the log has its line.
    stream.on('error', (error) =>
      refuse(error instanceof ApiError ? error : malformedRequest('The body did not arrive whole.')),
    );
  });
}

/** Why a body is refused before it comes: by its declared length, and by its type where it has one. */
export function refusalByHead(request: FastifyRequest, limitBytes: number): ApiError | undefined {
  const declaredBytes = Number(request.headers['content-length'] ?? 0);
  const refusal = declaredBytes > 0 ? mediaTypeRefusal(request) : undefined;
  return refusal ?? (declaredBytes > limitBytes ? payloadTooLarge(limitBytes) : undefined);
}

/** JSON has no charset parameter, and one makes no difference (RFC 8259, 11). */
function mediaTypeRefusal({ headers, contentType = '', raw }: FastifyRequest): ApiError | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    return unsupportedMediaType('Content-Encoding is not supported: send the body as it is.');
  }
  const [mediaType = ''] = contentType.split(';', 1);
  const isOneType = countHeader(raw.rawHeaders, 'content-type') <= 1;
  if (!isOneType || mediaType.trim().toLowerCase() !== 'application/json') {
    return unsupportedMediaType(JSON_ONLY);
  }
  return undefined;
}
