import Negotiator from 'negotiator';

/** The Content-Type of the API. Fastify sends a string of this type, or of the next one, unchanged. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Content-Type of problem details (RFC 9457, section 3). */
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** Longer headers are not parsed: each media range costs time, also in a response that rejects the request. */
const MAX_ACCEPT_LENGTH = 1_000;

/** True if the header prefers problem details to JSON (RFC 9110, 12.5.1); false without it, and for a mere wildcard. */
export function prefersProblem(accept: string | undefined): boolean {
  // Most headers need no parser.
  if (accept === undefined || accept.length > MAX_ACCEPT_LENGTH || !/problem/i.test(accept)) return false;
  return new Negotiator({ headers: { accept } }).mediaType([JSON_TYPE, PROBLEM_TYPE]) === PROBLEM_TYPE;
}
