import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error';
import { JSON_ONLY, malformedRequest, payloadTooLarge, unsupportedMediaType } from '../errors/http.errors';
import { countHeader } from '../http/raw-headers';
import { bodyError } from './http1/broken-body';
import { parseJson } from './json';

/**
 * Accepts JSON bodies only: checks the media type, then the size, then the text. An empty body counts as no body,
 * whichever Content-Type it has. Bodies of GET, HEAD and DELETE are ignored.
 */
export function useJsonBodies(fastify: FastifyInstance, limitBytes: number): void {
  fastify.removeAllContentTypeParsers();
  // The body of a DELETE has no meaning (RFC 9110, 9.3.5). It is ignored, as that of a GET.
  fastify.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  fastify.decorateRequest('contentType', undefined);
  fastify.decorateRequest('rawBody', undefined);
  fastify.addHook('preParsing', (request, _reply, payload, done) => {
    // Fastify would reject an invalid Content-Type of an empty body, too.
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

/** Collects the body. If it is rejected, Fastify closes the connection, because the rest stays unread. */
function readBody(request: FastifyRequest, stream: Readable, limitBytes: number): Promise<Buffer> {
  const knownError = declaredBodyError(request, limitBytes) ?? bodyError(request.raw);
  if (knownError) return Promise.reject(knownError);
  // A chunked body may be empty, so its type is rejected only if a byte arrives.
  const typeError = mediaTypeError(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (error: ApiError): void => {
      stream.off('data', take);
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (typeError) fail(typeError);
      else if (bytes > limitBytes) fail(payloadTooLarge(limitBytes));
    };
    stream.on('data', take).on('end', () => resolve(Buffer.concat(chunks, bytes)));
    // The body is broken or late. If the client has disconnected, the error serves the log line only.
    stream.on('error', (error) =>
      fail(error instanceof ApiError ? error : malformedRequest('The body did not arrive whole.')),
    );
  });
}

/** Checks a body by its headers: its declared length and, if that is not 0, its type. */
export function declaredBodyError(request: FastifyRequest, limitBytes: number): ApiError | undefined {
  const declaredBytes = Number(request.headers['content-length'] ?? 0);
  const typeError = declaredBytes > 0 ? mediaTypeError(request) : undefined;
  return typeError ?? (declaredBytes > limitBytes ? payloadTooLarge(limitBytes) : undefined);
}

/** Checks Content-Encoding and Content-Type. JSON has no charset parameter, so it is ignored (RFC 8259, 11). */
function mediaTypeError({ headers, contentType = '', raw }: FastifyRequest): ApiError | undefined {
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
