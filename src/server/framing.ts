import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import { sendError } from './error-reply';
import { platformErrors } from '../platform/errors/platform.errors';
import { isTooLong, TARGET_LIMIT_BYTES } from './target';

/** Browsers and proxies send about thirty. */
const MAX_HEADERS = 200;

/** uri-host and port (RFC 9110, 7.2; RFC 3986, 3.2.2); empty if the target has no authority. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * Rejects requests that Node's parser accepts although a proxy and the service may disagree about their end or host.
 * The service reads nothing after such a request and closes the connection. It also rejects URLs that are too long.
 */
export function guardFraming(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const error = framingError(request.raw);
    // The service ignores Upgrade, but Node's parser loses the bytes that arrived together with such a request.
    if (error || request.headers.upgrade !== undefined) reply.header('Connection', 'close');
    const rejection = error ?? lengthError(request.originalUrl);
    if (rejection) sendError(reply, rejection);
    else done();
  });
}

function lengthError(target: string): ApiError | undefined {
  if (!isTooLong(target)) return undefined;
  return platformErrors.uri_too_long({ message: `The URL is longer than ${TARGET_LIMIT_BYTES} bytes.` });
}

/** Returns the error of a request with invalid framing; undefined if its framing is valid. */
export function framingError(request: IncomingMessage): ApiError | undefined {
  if (request.rawHeaders.length / 2 > MAX_HEADERS) {
    return platformErrors.headers_too_large({ message: `The request has more than ${MAX_HEADERS} headers.` });
  }
  return (
    versionError(request) ?? transferEncodingError(request) ?? hostError(request) ?? expectationError(request)
  );
}

function versionError({ httpVersion }: IncomingMessage): ApiError | undefined {
  if (httpVersion === '1.1' || httpVersion === '1.0') return undefined;
  return platformErrors.malformed_request({ message: 'The version must be HTTP/1.1 or HTTP/1.0.' });
}

/**
 * Allows `chunked` only, because the service decodes no other coding. Node's parser checks that `chunked` is last
 * (RFC 9112, 6.1).
 */
function transferEncodingError({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.1' && coding.toLowerCase() === 'chunked') return undefined;
  return platformErrors.malformed_request({
    message: 'Transfer-Encoding must be chunked, and needs HTTP/1.1.',
  });
}

function hostError({ headers, httpVersion, rawHeaders }: IncomingMessage): ApiError | undefined {
  const count = countHeader(rawHeaders, 'host');
  if (count === 0 && httpVersion === '1.0') return undefined;
  if (count !== 1)
    return platformErrors.malformed_request({ message: 'The request must have one Host header.' });
  return HOST.test(headers.host ?? '')
    ? undefined
    : platformErrors.malformed_request({ message: 'The Host header is not valid.' });
}

/** HTTP/1.0 has no expectations (RFC 9110, 10.1.1). */
function expectationError({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0') return undefined;
  return expect.toLowerCase() === '100-continue' ? undefined : platformErrors.expectation_failed();
}

/**
 * Counts how often a request has a header. Node's `headers` keeps only one of most repeated headers.
 *
 * @param rawHeaders names and values alternately, as in Node's `rawHeaders`
 * @param name in lower case
 */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) count += 1;
  }
  return count;
}
