import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import { countHeader } from '../platform/http/raw-headers';
import { invalidApiKey, missingApiKey } from './auth.errors';

/** The scheme and the token. */
const BEARER = /^bearer(?:[ \t]+(.*))?$/i;

/** Returns the bearer token of a request (RFC 6750, 2.1), or the rejection of a request without exactly one. */
export function bearerToken(request: FastifyRequest): string | { readonly rejection: ApiError } {
  // Node drops all Authorization headers but the first, so a request with two of them is ambiguous.
  if (countHeader(request.raw.rawHeaders, 'authorization') > 1) return { rejection: invalidApiKey() };
  const match = BEARER.exec(request.headers.authorization ?? '');
  return match ? (match[1] ?? '') : { rejection: missingApiKey() };
}
