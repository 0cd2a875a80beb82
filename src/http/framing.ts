import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { sendError } from './send-error';

/** The longest request target in bytes: Node's parser accepts ASCII only, and limits target and headers together. */
export const TARGET_LIMIT_BYTES = 8_192;

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
    if (error) sendError(reply, error);
    else if (request.originalUrl.length > TARGET_LIMIT_BYTES)
      sendError(
        reply,
        commonErrors.uri_too_long({ message: `The URL is longer than ${TARGET_LIMIT_BYTES} bytes.` }),
      );
    else done();
  });
}

export function framingError(request: IncomingMessage): ApiError | undefined {
  const { rawHeaders, httpVersion, headers } = request;
  if (rawHeaders.length / 2 > MAX_HEADERS) {
    return commonErrors.headers_too_large({ message: `The request has more than ${MAX_HEADERS} headers.` });
  }
  const message = ambiguityOf(request);
  if (message !== undefined) return commonErrors.malformed_request({ message });
  const { expect } = headers;
  // HTTP/1.0 has no expectations (RFC 9110, 10.1.1).
  const isKnown = expect === undefined || httpVersion === '1.0' || expect.toLowerCase() === '100-continue';
  return isKnown ? undefined : commonErrors.expectation_failed();
}

/** Says what a proxy could read differently; undefined if nothing. */
function ambiguityOf({ headers, httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The version must be HTTP/1.1 or HTTP/1.0.';
  const coding = headers['transfer-encoding'];
  // The service decodes no other coding. Node's parser checks that `chunked` is last (RFC 9112, 6.1).
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) {
    return 'Transfer-Encoding must be chunked, and needs HTTP/1.1.';
  }
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'The request must have one Host header.';
  return HOST.test(headers.host ?? '') ? undefined : 'The Host header is not valid.';
}

/** Counts a header, by its name in lower case. Node's `headers` keeps only one of most repeated headers. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((each, at) => at % 2 === 0 && each.toLowerCase() === name).length;
}

/** A target in origin form whose path is `/v1` or below it, in each spelling. */
const API = /^\/(?:v|%76)(?:1|%31)(?:[/?#]|$)/;

const EMPTY_SEGMENT = /\/(?:\/|$)/;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Rewrites absolute form to origin form. Fastify's router responds itself to an undecodable path, without hooks, and
 * accepts an empty segment as a parameter. Such paths become one without a route, which in the API has guards.
 */
export function rewriteTarget({ url = '/' }: { readonly url?: string | undefined }): string {
  const target = originForm(url);
  const isApi = API.test(target);
  const isDecodable = decodedPath(target) !== undefined;
  if (isDecodable && !(isApi && EMPTY_SEGMENT.test(rawPath(target)))) return target;
  return isApi ? '/v1/unroutable' : '/unroutable';
}

/** Returns the percent-decoded path of a request target; undefined if it is not UTF-8. */
export function decodedPath(target: string): string | undefined {
  const path = rawPath(target);
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Returns the path of a request target as sent, without query and fragment. */
export function rawPath(target: string): string {
  const [path = ''] = originForm(target).split(/[?#]/, 1);
  return path;
}

/** The `*` of OPTIONS becomes a path without a route. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(ORIGIN, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
