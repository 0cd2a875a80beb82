import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ApiError } from '../errors/api-error';
import { sendError } from '../errors/error-reply';
import { expectationFailed, malformedRequest, tooManyHeaders } from '../errors/http.errors';
import { countHeader } from '../http/raw-headers';
import type { Connections } from './connections';

/** Browsers and proxies send some thirty. */
const HEADER_COUNT_LIMIT = 200;

/** uri-host and port (RFC 9110, 7.2; RFC 3986, 3.2.2); empty where the target has no authority. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * Refuses, before the door, what Node's parser lets pass although client, proxies and service could read it
 * differently: where the request ends, or whom it is for. Nothing after it is read, and the connection is closed.
 */
export function guardFraming(fastify: FastifyInstance, connections: Connections): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const { headers, socket } = request.raw;
    const refusal = framingRefusal(request.raw);
    // No protocol is offered to upgrade to; but Node's parser loses what came together with such a request.
    if (refusal || headers.upgrade !== undefined) {
      connections.end(socket);
      reply.header('Connection', 'close');
    }
    if (refusal) sendError(reply, refusal);
    else done();
  });
}

/** Why a request is refused for its framing; undefined where it is sound. */
export function framingRefusal(request: IncomingMessage): ApiError | undefined {
  if (request.rawHeaders.length / 2 > HEADER_COUNT_LIMIT) return tooManyHeaders(HEADER_COUNT_LIMIT);
  return (
    versionRefusal(request) ??
    transferEncodingRefusal(request) ??
    hostRefusal(request) ??
    expectationRefusal(request)
  );
}

function versionRefusal({ httpVersion }: IncomingMessage): ApiError | undefined {
  if (httpVersion === '1.1' || httpVersion === '1.0') return undefined;
  return malformedRequest('The version must be HTTP/1.1 or HTTP/1.0.');
}

/** The parser makes sure that `chunked` comes last (RFC 9112, 6.1); other codings nobody here would undo. */
function transferEncodingRefusal({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.1' && coding.toLowerCase() === 'chunked') return undefined;
  return malformedRequest('Transfer-Encoding must be chunked, and needs HTTP/1.1.');
}

function hostRefusal({ headers, httpVersion, rawHeaders }: IncomingMessage): ApiError | undefined {
  const count = countHeader(rawHeaders, 'host');
  if (count === 0 && httpVersion === '1.0') return undefined;
  if (count !== 1) return malformedRequest('The request must have one Host header.');
  return HOST.test(headers.host ?? '') ? undefined : malformedRequest('The Host header is not valid.');
}

/** HTTP/1.0 does not know expectations (RFC 9110, 10.1.1). */
function expectationRefusal({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0') return undefined;
  return expect.toLowerCase() === '100-continue' ? undefined : expectationFailed();
}
