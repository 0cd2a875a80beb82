import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { maskKeys } from '../platform/logging/logger';
import { pathFacts, routeOf } from './request-log';

/** The methods that the semantic conventions name; each other one is `_OTHER`. */
const NAMED_METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE',
]);

/** Gives every request a span, which continues the `traceparent` of the client, and its log lines `trace_id`. */
export function installRequestSpans(fastify: FastifyInstance, tracer: Tracer): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const attributes = attributesOf(request);
    const span = tracer.startSpan(nameOf(attributes), { kind: SpanKind.SERVER, attributes }, parent);
    const { traceId } = span.spanContext();
    request.traceId = traceId;
    request.log = request.log.child({ trace_id: traceId });
    reply.log = request.log;
    reply.raw.once('close', () => endSpan(span, request, reply));
    context.with(trace.setSpan(parent, span), done);
  });
}

/** Returns the attributes that are known before the guards. Query, headers and body may contain secrets. */
function attributesOf(request: FastifyRequest): Attributes {
  const isNamed = NAMED_METHODS.has(request.method);
  const route = routeOf(request);
  return {
    'http.request.method': isNamed ? request.method : '_OTHER',
    ...(isNamed ? {} : { 'http.request.method_original': request.method }),
    ...(route === undefined ? {} : { 'http.route': route }),
    'url.path': maskKeys(pathFacts(request.originalUrl).path),
    'url.scheme': request.protocol,
    'animal_store.request_id': maskKeys(request.id),
  };
}

function nameOf(attributes: Attributes): string {
  const { 'http.request.method': method, 'http.route': route } = attributes;
  return [method === '_OTHER' ? 'HTTP' : method, route].filter((part) => part !== undefined).join(' ');
}

/** Ends the span with the response. A 4xx is not an error of the server (semantic conventions for HTTP spans). */
function endSpan(span: Span, { errorCode }: FastifyRequest, { raw }: FastifyReply): void {
  if (raw.headersSent) span.setAttribute('http.response.status_code', raw.statusCode);
  if (errorCode !== undefined) span.setAttribute('animal_store.error_code', errorCode);
  if (raw.headersSent && raw.statusCode >= 500) {
    span.setAttribute('error.type', errorCode ?? String(raw.statusCode));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
