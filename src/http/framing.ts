import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { COMMON_HEADERS, COMPONENT_HEADERS } from '../api/operation/header-catalogue';
import { isDecodable } from '../config/parsers';
import { sendError } from './send-error';

/** The longest request target in bytes: Node's parser accepts ASCII only, and limits target and headers together. */
const TARGET_LIMIT_BYTES = 8_192;

/** Browsers and proxies send about thirty. */
const MAX_HEADERS = 200;

/** uri-host and port (RFC 9110, 7.2; RFC 3986, 3.2.2); empty if the target has no authority. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * Rejects requests that Node's parser accepts although a proxy and the service may disagree about their end or host.
 * The service reads nothing after such a request and closes the connection. It also rejects URLs that are too long, and
 * responds to preflights of the allowed origins.
 */
export function guardFraming(app: NestFastifyApplication, origins: readonly string[]): void {
  if (origins.length > 0) enableCors(app, origins);
  const fastify = app.getHttpAdapter().getInstance();
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

/**
 * Allows cross-origin use by the allowed origins (Fetch standard, CORS protocol). It runs before the guards,
 * because browsers send a preflight without a key. For other origins the service behaves as without CORS.
 */
function enableCors(app: NestFastifyApplication, origins: readonly string[]): void {
  const exposedHeaders = ['Allow', ...Object.keys({ ...COMPONENT_HEADERS, ...COMMON_HEADERS })];
  app.enableCors({
    delegator: ({ headers, raw }, decide) => {
      const { origin, upgrade, 'access-control-request-method': asked } = headers;
      decide(null, {
        origin: origins.find((each) => each === origin) ?? false,
        // The other hook runs later, so that its errors have these headers, too.
        preflight: asked !== undefined && upgrade === undefined && !framingError(raw),
        methods: ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'],
        exposedHeaders,
        // In seconds.
        maxAge: 600,
      });
    },
  });
}

function framingError(request: IncomingMessage): ApiError | undefined {
  const { rawHeaders, httpVersion, headers } = request;
  if (rawHeaders.length / 2 > MAX_HEADERS)
    return commonErrors.headers_too_large({ message: `The request has more than ${MAX_HEADERS} headers.` });
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
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return 'Transfer-Encoding must be chunked, and needs HTTP/1.1.';
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'The request must have one Host header.';
  return HOST.test(headers.host ?? '') ? undefined : 'The Host header is not valid.';
}

/** Counts a header, by its name in lower case. Node's `headers` keeps only one of most repeated headers. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((each, at) => at % 2 === 0 && each.toLowerCase() === name).length;
}

/** The path of the API and those below it, in each spelling. */
const API = /^\/(?:v|%76)(?:1|%31)(?:\/|$)/;

const EMPTY_SEGMENT = /\/(?:\/|$)/;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Rewrites absolute form to origin form. Fastify's router responds itself to an undecodable path, without hooks, and
 * accepts an empty segment as a parameter. Such paths become one without a route, which in the API has guards.
 */
export function rewriteTarget({ url = '/' }: { readonly url?: string | undefined }): string {
  const target = originForm(url);
  const path = pathOf(target);
  const isApi = API.test(path);
  const isEncoded = path.includes('%');
  if ((!isEncoded || isDecodable(path)) && !(isApi && EMPTY_SEGMENT.test(path))) return target;
  return isApi ? '/v1/unroutable' : '/unroutable';
}

/** Returns the path of a request target as sent, without query and fragment. */
export function pathOf(target: string): string {
  return originForm(target).replace(/[?#].*/s, '');
}

/** The `*` of OPTIONS becomes a path without a route. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(ORIGIN, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
