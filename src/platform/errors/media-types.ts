import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';

/** The Content-Type of the API. Fastify sends a string of this type, or of the next one, unchanged. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Content-Type of problem details (RFC 9457, section 3). */
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** Longer headers are not parsed: each member costs time, also in a response that rejects the request. */
const MAX_ACCEPT_LENGTH = 1_000;

/** True if the header prefers problem details to JSON (RFC 9110, 12.5.1); false without it, and for a mere wildcard. */
export function prefersProblem(accept: string | undefined): boolean {
  // Most headers need no parser.
  if (accept === undefined || accept.length > MAX_ACCEPT_LENGTH || !/problem/i.test(accept)) return false;
  return new Negotiator({ headers: { accept } }).mediaType([JSON_TYPE, PROBLEM_TYPE]) === PROBLEM_TYPE;
}

/** True if the header of a request accepts gzip (RFC 9110, 12.5.3). */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  if (typeof acceptEncoding !== 'string' || acceptEncoding.length > MAX_ACCEPT_LENGTH) return false;
  return new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }).encodings(['gzip']).length > 0;
}

/** Adds the name of a request header that decides the response. */
export function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader('vary');
  reply.header('Vary', vary === undefined ? name : `${String(vary)}, ${name}`);
}
